/* SPDX-License-Identifier: MIT */
#include "model/type_history.h"

#include "check.h"
#include "model_kit.h"

#define MIB ((double)KIT_MIB)

static void add_run(struct type_history *h, double used)
{
	struct job job = { .status = JOB_COMPLETED, .took_ns = NS_PER_S };

	kit_figure(&job, JOB_FIGURE_PEAK_USED, (uint64_t)used, QUALITY_SAMPLED);
	type_history_add(h, &job);
}

static void test_type_history__needs_five_runs(void **state)
{
	struct type_history h = { 0 };

	assert_true(type_history_bound(NULL, PAST_USED) == 0);
	for (int i = 0; i < TYPE_HISTORY_LEAST; i++) {
		assert_true(type_history_bound(&h, PAST_USED) == 0);
		add_run(&h, 100 * MIB);
	}
	assert_true(type_history_bound(&h, PAST_USED) > 0);
	assert_true(type_history_bound(&h, PAST_LARGEST) == 0); /* no run has it */
	assert_true(type_history_bound(&h, PAST_TOOK) > 0);
}

static void test_type_history__of_equal_runs_is_a_tenth_more(void **state)
{
	struct type_history h = { 0 };

	for (int i = 0; i < 20; i++)
		add_run(&h, 100 * MIB);
	assert_true(fabs(type_history_bound(&h, PAST_USED) - 110 * MIB) < 1);
}

static void test_type_history__allows_more_where_runs_vary(void **state)
{
	static const double used[] = { 100, 200, 400, 150, 300, 250 };
	struct type_history h = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(used); i++)
		add_run(&h, used[i] * MIB);
	/* Mean and deviation of their logarithms are 5.36 and 0.50; Student's quantile for 98 % and 5 degrees of freedom
	 * is 2.76: exp(5.36 + 2.76 × 0.50 × 1.08). */
	assert_in_range((uint64_t)(type_history_bound(&h, PAST_USED) / MIB), 880, 960);
}

static void test_type_history__learns_only_from_runs_that_went_well_and_a_bounded_number(void **state)
{
	struct type_history h = { 0 };
	struct job failed = { .status = JOB_FAILED };

	kit_figure(&failed, JOB_FIGURE_PEAK_USED, 900 * KIT_MIB, QUALITY_EXACT);
	type_history_add(&h, &failed);
	failed.status = JOB_LOST;
	type_history_add(&h, &failed);
	assert_int_equal(h.of[PAST_USED].n, 0);
	for (int i = 0; i < TYPE_HISTORY_RUNS; i++)
		add_run(&h, 100 * MIB);
	add_run(&h, 900 * MIB);
	assert_int_equal(h.of[PAST_USED].n, TYPE_HISTORY_RUNS);
	assert_true(h.of[PAST_USED].most == 100 * MIB);
}

RUN_TESTS(TEST(test_type_history__needs_five_runs),
          TEST(test_type_history__of_equal_runs_is_a_tenth_more),
          TEST(test_type_history__allows_more_where_runs_vary),
          TEST(test_type_history__learns_only_from_runs_that_went_well_and_a_bounded_number))
