/* SPDX-License-Identifier: MIT */
#include "engine/tick_time.h"

#include "base/clock.h"
#include "check.h"

static void test_tick_next__does_not_drift_when_a_tick_is_late(void **state)
{
	uint64_t missed;

	(void)state;
	assert_int_equal(tick_time_next(1000, 1007, 100, &missed), 1100);
	assert_int_equal(missed, 0);
}

static void test_tick_time_is_gap__a_short_delay_of_frequent_ticks_is_none(void **state)
{
	assert_false(tick_time_is_gap(300 * NS_PER_MS, 50 * NS_PER_MS));
	assert_true(tick_time_is_gap(NS_PER_S, 50 * NS_PER_MS));
	assert_false(tick_time_is_gap(4 * NS_PER_S, 5 * NS_PER_S));
	assert_true(tick_time_is_gap(5 * NS_PER_S, 5 * NS_PER_S));
}

static void test_tick_next__skips_what_was_missed_instead_of_catching_up(void **state)
{
	uint64_t missed;

	(void)state;
	assert_int_equal(tick_time_next(1000, 61000, 1000, &missed), 62000);
	assert_int_equal(missed, 60);
	assert_int_equal(tick_time_next(1000, 1999, 1000, &missed), 2000);
	assert_int_equal(missed, 0);
}

static void test_tick_next__goes_on_from_the_plan_when_fired_early(void **state)
{
	uint64_t missed;

	(void)state;
	assert_int_equal(tick_time_next(1000, 990, 100, &missed), 1100);
	assert_int_equal(missed, 0);
}

static void test_tick_interval__grows_with_age_up_to_the_longest(void **state)
{
	(void)state;
	assert_int_equal(tick_time_interval(0, NS_PER_S), 50 * NS_PER_MS);
	assert_int_equal(tick_time_interval(NS_PER_S / 2, NS_PER_S), 50 * NS_PER_MS);
	assert_int_equal(tick_time_interval(4 * NS_PER_S, NS_PER_S), 400 * NS_PER_MS);
	assert_int_equal(tick_time_interval(10 * NS_PER_S, NS_PER_S), NS_PER_S);
	assert_int_equal(tick_time_interval(UINT64_MAX, NS_PER_S), NS_PER_S);
	assert_int_equal(tick_time_interval(NS_PER_S, 10 * NS_PER_MS), 10 * NS_PER_MS);
}

RUN_TESTS(TEST(test_tick_interval__grows_with_age_up_to_the_longest),
          TEST(test_tick_next__does_not_drift_when_a_tick_is_late),
          TEST(test_tick_time_is_gap__a_short_delay_of_frequent_ticks_is_none),
          TEST(test_tick_next__skips_what_was_missed_instead_of_catching_up),
          TEST(test_tick_next__goes_on_from_the_plan_when_fired_early))
