/* SPDX-License-Identifier: MIT */
#include "engine/budget.h"

#include <math.h>

#include "check.h"
#include "model/sample.h"

static void feed(struct budget *b, double ratio, unsigned times)
{
	while (times--)
		budget_feed(b, ratio);
}

static void test_budget__steps_down_in_the_documented_order(void **state)
{
	struct budget b = { .limit_ratio = 0.01 };

	(void)state;
	assert_int_equal(budget_want(&b), WANT_ALL);
	feed(&b, 0.02, 5);
	assert_int_equal(budget_want(&b), WANT_FDS_IO);
	feed(&b, 0.02, 5);
	assert_int_equal(budget_want(&b), 0);
	assert_int_equal(budget_interval_ns(&b, 1000), 1000);
	feed(&b, 0.02, 10);
	assert_int_equal(budget_interval_ns(&b, 1000), 2000);
	feed(&b, 0.02, 100);
	assert_int_equal(budget_interval_ns(&b, 1000), 32000);
}

static void test_budget__does_not_stretch_an_interval_that_was_asked_for(void **state)
{
	struct budget b = { .limit_ratio = 0.01, .keep_interval = true };

	(void)state;
	feed(&b, 0.5, 200);
	assert_int_equal(b.level, BUDGET_NO_SYSCALLS);
	assert_int_equal(budget_interval_ns(&b, 1000), 1000);
}

static void test_budget__one_busy_tick_or_an_unknown_cost_changes_nothing(void **state)
{
	struct budget b = { .limit_ratio = 0.01 };

	(void)state;
	feed(&b, 0.5, 4);
	feed(&b, 0.001, 1);
	feed(&b, 0.5, 4);
	feed(&b, (double)NAN, 10);
	assert_int_equal(b.level, BUDGET_ALL);
}

static void test_budget__comes_back_only_after_a_long_calm(void **state)
{
	struct budget b = { .limit_ratio = 0.01, .level = BUDGET_NO_FDS_IO };

	(void)state;
	feed(&b, 0.001, 29);
	assert_int_equal(b.level, BUDGET_NO_FDS_IO);
	feed(&b, 0.001, 1);
	assert_int_equal(b.level, BUDGET_NO_PSS);
	feed(&b, 0.005, 100); /* neither over nor well below: stays */
	assert_int_equal(b.level, BUDGET_NO_PSS);
}

static void test_budget__names_what_is_left_out(void **state)
{
	(void)state;
	assert_null(budget_left_out(BUDGET_ALL));
	assert_string_equal(budget_left_out(BUDGET_NO_FDS_IO),
	                    "PSS and other details, open files and I/O");
	assert_string_equal(budget_left_out(BUDGET_LAST), budget_left_out(BUDGET_NO_SYSCALLS));
}

RUN_TESTS(TEST(test_budget__steps_down_in_the_documented_order),
          TEST(test_budget__does_not_stretch_an_interval_that_was_asked_for),
          TEST(test_budget__one_busy_tick_or_an_unknown_cost_changes_nothing),
          TEST(test_budget__comes_back_only_after_a_long_calm),
          TEST(test_budget__names_what_is_left_out))
