/* SPDX-License-Identifier: MIT */
#include "analyze/recent_values.h"

#include "base/clock.h"
#include "check.h"

#define S NS_PER_S

static void test_recent_values__keep_a_window_in_bounded_memory(void **state)
{
	struct recent_values r = { 0 };
	struct recent_value first;

	assert_false(recent_values_earliest(&r, &first));
	for (uint64_t s = 0; s <= 1000; s++)
		recent_values_add(&r, 60 * S, s * S, (double)s);
	assert_true(recent_values_earliest(&r, &first));
	assert_in_range(first.at_ns, 940 * S, 944 * S);
	assert_true(r.len <= RECENT_VALUES);
}

/* So many per second until `turn`, then so many. */
static double growth_of(double before, double after, uint64_t turn, uint64_t until)
{
	struct recent_values r = { 0 };
	double value = 1000;
	uint64_t s = 0;

	for (; s < until; s++) {
		recent_values_add(&r, 60 * S, s * S, value);
		value += s < turn ? before : after;
	}
	return recent_values_growth(&r, 20 * S, (struct recent_value){ s * S, value });
}

static void test_recent_values__growth_is_one_that_goes_on(void **state)
{
	assert_true(growth_of(10, 10, 0, 19) == 0); /* not known yet */
	assert_true(growth_of(10, 10, 0, 20) > 9.9);
	assert_true(growth_of(10, 0, 10, 40) == 0); /* it stopped */
	assert_true(growth_of(0, 0, 0, 40) == 0);
	assert_true(growth_of(-10, -10, 0, 40) == 0);
	assert_true(growth_of(10, 20, 20, 40) > 9); /* it became faster: the smaller rate */
	assert_true(growth_of(10, 20, 20, 40) < 16);
}

static void test_recent_values__growth_after_loading_counts_by_itself(void **state)
{
	assert_true(growth_of(100, 2, 3, 22) == 0); /* not for long enough */
	assert_true(growth_of(100, 2, 3, 40) > 1.9 && growth_of(100, 2, 3, 40) < 2.6);
}

static void test_recent_values__what_goes_up_and_down_does_not_grow(void **state)
{
	struct recent_values r = { 0 };

	for (uint64_t s = 0; s <= 300; s++) {
		const struct recent_value now = { s * S, (double)(s % 40) };

		if (s >= 60)
			assert_true(recent_values_growth(&r, 20 * S, now) < 0.5);
		recent_values_add(&r, 60 * S, now.at_ns, now.value);
	}
}

RUN_TESTS(TEST(test_recent_values__growth_after_loading_counts_by_itself),
          TEST(test_recent_values__what_goes_up_and_down_does_not_grow),
          TEST(test_recent_values__keep_a_window_in_bounded_memory),
          TEST(test_recent_values__growth_is_one_that_goes_on))
