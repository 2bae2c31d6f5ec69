/* SPDX-License-Identifier: MIT */
#include "engine/budget.h"

#include "base/clock.h"
#include "base/defs.h"
#include "check.h"
#include "model/sample.h"

#define LIMIT 0.01
#define COSTS(percent) ((uint64_t)((percent)*1e7)) /* of one tick a second */

/* Feeds ticks of that cost until so much time of theirs has passed. How often the level changed. */
static unsigned feed(struct budget *b, uint64_t cost_ns, uint64_t base_ns, unsigned seconds)
{
	unsigned changes = 0;

	for (uint64_t ns = 0; ns < seconds * NS_PER_S; ns += budget_interval_ns(b, base_ns))
		changes += budget_feed(b, cost_ns, base_ns);
	return changes;
}

static void test_budget__steps_down_in_the_documented_order(void **state)
{
	struct budget b = { .limit_ratio = LIMIT };

	(void)state;
	assert_int_equal(budget_want(&b), WANT_ALL);
	assert_null(budget_left_out(&b));
	feed(&b, COSTS(1.5), NS_PER_S, 10);
	assert_int_equal(budget_want(&b), WANT_FDS_IO | WANT_SYSCALLS);
	assert_string_equal(budget_left_out(&b), "PSS and other details");
	feed(&b, COSTS(1.5), NS_PER_S, 10);
	assert_int_equal(budget_want(&b), WANT_SYSCALLS);
	assert_string_equal(budget_left_out(&b), "PSS and other details, open files and I/O");
	assert_int_equal(budget_interval_ns(&b, 1000), 1000);
	feed(&b, COSTS(1.5), NS_PER_S, 10);
	assert_int_equal(budget_interval_ns(&b, 1000), 2000);
	assert_string_equal(budget_left_out(&b), "PSS and other details, open files and I/O");
}

static void test_budget__leaves_system_calls_out_before_it_stretches_the_interval(void **state)
{
	struct budget b = { .limit_ratio = LIMIT, .has_syscalls = true, .files_are_free = true };

	(void)state;
	feed(&b, COSTS(1.5), NS_PER_S, 10);
	assert_int_equal(budget_want(&b) & WANT_SYSCALLS, WANT_SYSCALLS);
	feed(&b, COSTS(1.5), NS_PER_S, 10);
	assert_int_equal(budget_want(&b), 0);
	assert_int_equal(budget_interval_ns(&b, 1000), 1000);
	assert_string_equal(budget_left_out(&b), "PSS and other details, system calls");
	feed(&b, COSTS(1.5), NS_PER_S, 10);
	assert_int_equal(budget_interval_ns(&b, 1000), 2000);
}

/* What a longer interval costs is known, so there is no going through all of them. */
static void test_budget__takes_the_interval_that_fits_at_once(void **state)
{
	static const struct {
		double percent; /* of a core, at the interval that was asked for */
		unsigned times;
	} cases[] = { { 1.01, 2 },  { 2, 2 },   { 2.01, 4 }, { 4.01, 8 },
		      { 8.01, 16 }, { 31, 32 }, { 500, 32 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct budget b = { .limit_ratio = LIMIT, .level = BUDGET_NO_FDS_IO };

		assert_int_equal(feed(&b, COSTS(cases[i].percent), NS_PER_S, 10), 1);
		assert_int_equal(budget_interval_ns(&b, 1000), cases[i].times * 1000);
	}
}

static void test_budget__passes_over_what_saves_nothing(void **state)
{
	struct budget b = { .limit_ratio = LIMIT, .files_are_free = true };

	(void)state;
	feed(&b, COSTS(1.5), NS_PER_S, 20);
	assert_int_equal(b.level, BUDGET_SLOWER);
	assert_string_equal(budget_left_out(&b), "PSS and other details");
	feed(&b, COSTS(0.1), NS_PER_S, 40);
	assert_int_equal(b.level, BUDGET_NO_PSS);
	b.keep_interval = true;
	assert_int_equal(feed(&b, COSTS(5), NS_PER_S, 1000), 0);
	assert_int_equal(b.level, BUDGET_NO_PSS);
}

static void test_budget__does_not_stretch_an_interval_that_was_asked_for(void **state)
{
	struct budget b = { .limit_ratio = LIMIT, .keep_interval = true };

	(void)state;
	feed(&b, COSTS(50), NS_PER_S, 1000);
	assert_int_equal(b.level, BUDGET_NO_FDS_IO);
	assert_int_equal(budget_interval_ns(&b, 1000), 1000);
}

static void test_budget__judges_the_mean_and_not_single_ticks(void **state)
{
	struct budget b = { .limit_ratio = LIMIT };
	unsigned changes = 0;

	(void)state;
	for (unsigned i = 0; i < 600; i++)
		changes += budget_feed(&b, i % 10 < 3 ? COSTS(3) : COSTS(0.1), NS_PER_S);
	assert_int_equal(changes, 0);
	for (unsigned i = 0; i < 10; i++) /* every other one is cheap, and yet it is too much */
		changes += budget_feed(&b, i % 2 ? COSTS(3) : 0, NS_PER_S);
	assert_int_equal(changes, 1);
}

static void test_budget__rare_ticks_are_judged_after_three(void **state)
{
	struct budget b = { .limit_ratio = LIMIT };

	(void)state;
	assert_false(budget_feed(&b, 120 * COSTS(1), 60 * NS_PER_S));
	assert_false(budget_feed(&b, 120 * COSTS(1), 60 * NS_PER_S));
	assert_true(budget_feed(&b, 120 * COSTS(1), 60 * NS_PER_S));
	assert_int_equal(b.level, BUDGET_NO_PSS);
}

/* However far down, at most three minutes after it is over all is as it was, whatever single ticks
 * do meanwhile: 0.4 % on average, with peaks far above. */
static void test_budget__comes_back_soon_after_a_burst(void **state)
{
	(void)state;
	for (unsigned level = BUDGET_NO_PSS; level <= BUDGET_LAST; level++) {
		struct budget b = { .limit_ratio = LIMIT, .level = level };
		uint64_t ns = 0;

		for (unsigned i = 0; b.level != BUDGET_ALL && i < 1000; i++) {
			ns += budget_interval_ns(&b, NS_PER_S);
			budget_feed(&b, i % 4 ? COSTS(0.1) : COSTS(1.3), NS_PER_S);
		}
		assert_int_equal(b.level, BUDGET_ALL);
		assert_in_range(ns / NS_PER_S, 30, 190);
	}
}

static void test_budget__comes_back_only_where_it_fits_with_room(void **state)
{
	static const struct {
		unsigned level;
		double percent; /* of a core, at the interval that was asked for */
		unsigned becomes;
	} cases[] = {
		{ BUDGET_NO_PSS, 0.74, BUDGET_ALL },
		{ BUDGET_NO_PSS, 0.76, BUDGET_NO_PSS },
		{ BUDGET_SLOWER, 0.74, BUDGET_ALL },
		{ BUDGET_SLOWER, 0.76, BUDGET_SLOWER },
		{ BUDGET_SLOWER + 2, 1.4, BUDGET_SLOWER },
		{ BUDGET_SLOWER + 2, 1.6, BUDGET_SLOWER + 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct budget b = { .limit_ratio = LIMIT, .level = cases[i].level };

		feed(&b, COSTS(cases[i].percent), NS_PER_S, 3600);
		assert_int_equal(b.level, cases[i].becomes);
	}
}

/* With PSS 1.5 %, without 0.5 %: that it does not fit is only seen by trying. */
static void test_budget__tries_ever_more_rarely_what_did_not_fit(void **state)
{
	struct budget b = { .limit_ratio = LIMIT };
	unsigned trials = 0, seconds_over = 0;

	(void)state;
	for (unsigned i = 0; i < 6 * 3600; i++) {
		bool over = b.level == BUDGET_ALL;

		seconds_over += over;
		trials += budget_feed(&b, over ? COSTS(1.5) : COSTS(0.5), NS_PER_S) && !over;
	}
	assert_in_range(trials, 20, 30);
	assert_in_range(seconds_over, 200, 310);
	feed(&b, COSTS(0.5), NS_PER_S, 2000); /* now it fits … */
	assert_int_equal(b.level, BUDGET_ALL);
	feed(&b, COSTS(1.5), NS_PER_S, 10); /* … for long enough that the next trial is soon */
	feed(&b, COSTS(0.5), NS_PER_S, 40);
	assert_int_equal(b.level, BUDGET_ALL);
}

RUN_TESTS(TEST(test_budget__steps_down_in_the_documented_order),
          TEST(test_budget__leaves_system_calls_out_before_it_stretches_the_interval),
          TEST(test_budget__takes_the_interval_that_fits_at_once),
          TEST(test_budget__passes_over_what_saves_nothing),
          TEST(test_budget__does_not_stretch_an_interval_that_was_asked_for),
          TEST(test_budget__judges_the_mean_and_not_single_ticks),
          TEST(test_budget__rare_ticks_are_judged_after_three),
          TEST(test_budget__comes_back_soon_after_a_burst),
          TEST(test_budget__comes_back_only_where_it_fits_with_room),
          TEST(test_budget__tries_ever_more_rarely_what_did_not_fit))
