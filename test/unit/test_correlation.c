/* SPDX-License-Identifier: MIT */
#include "analyze/correlation.h"

#include <math.h>

#include "check.h"

#define JOBS 60
#define FEATURES 4

struct table {
	double value[FEATURES * JOBS];
	bool failed[JOBS];
};

/* Numbers without any order in them, the same in every run. */
static double scatter(size_t i)
{
	return fmod((double)i * 0.6180339887498949 + 0.1, 1);
}

/* Properties that have nothing to do with failure. */
static void fill(struct table *t)
{
	for (size_t k = 0; k < FEATURES; k++)
		for (size_t i = 0; i < JOBS; i++)
			t->value[k * JOBS + i] = scatter(i * (2 * k + 3) + 17 * k);
	for (size_t i = 0; i < JOBS; i++)
		t->failed[i] = scatter(i * 29 + 5) < 0.2;
}

static struct correlation_group group_of(const struct table *t, size_t features)
{
	return (struct correlation_group){ JOBS, features, t->failed, t->value };
}

static void test_correlation__finds_nothing_where_failures_are_independent(void **state)
{
	struct correlation_findings f;
	struct correlation_group g;
	struct table t;

	(void)state;
	fill(&t);
	g = group_of(&t, FEATURES);
	assert_true(correlation_find(&g, 1, 1, NULL, &f));
	assert_int_equal(f.tests, FEATURES);
	assert_int_equal(f.list.len, 0);
	correlation_findings_done(&f);
}

static void test_correlation__finds_a_step_and_its_limit_among_other_properties(void **state)
{
	struct correlation_findings f;
	struct correlation_group g;
	struct table t;

	(void)state;
	fill(&t);
	for (size_t i = 0; i < JOBS; i++)
		t.failed[i] = scatter(i * 29 + 5) < (t.value[2 * JOBS + i] > 0.6 ? 0.8 : 0.1);
	g = group_of(&t, FEATURES);
	assert_true(correlation_find(&g, 1, 1, NULL, &f));
	assert_int_equal(f.list.len, 1);
	assert_int_equal(f.list.at[0].feature, 2);
	assert_true(f.list.at[0].from > 0.5 && f.list.at[0].from < 0.7);
	assert_true(isinf(f.list.at[0].to));
	assert_true(f.list.at[0].p <= f.list.at[0].q && f.list.at[0].q <= 0.01);
	assert_true(f.list.at[0].confidence > 0.85);
	assert_true(f.list.at[0].interval.low > 0 && f.list.at[0].interval.high > 0.6);
	assert_int_equal(f.list.at[0].inside.jobs + f.list.at[0].outside.jobs, JOBS);
	correlation_findings_done(&f);
}

static void test_correlation__reports_the_lower_side_if_that_fails_more(void **state)
{
	struct correlation_findings f;
	struct correlation_group g;
	struct table t;

	(void)state;
	fill(&t);
	for (size_t i = 0; i < JOBS; i++)
		t.failed[i] = t.value[i] < 0.4;
	g = group_of(&t, 1);
	assert_true(correlation_find(&g, 1, 1, NULL, &f));
	assert_int_equal(f.list.len, 1);
	assert_true(isinf(f.list.at[0].from) && fabs(f.list.at[0].to - 0.4) < 0.1);
	assert_true(rate_test_ratio(f.list.at[0].inside) > rate_test_ratio(f.list.at[0].outside));
	correlation_findings_done(&f);
}

/* No trend can show this: both ends are alike. */
static void test_correlation__finds_a_range_in_the_middle(void **state)
{
	struct correlation_findings f;
	struct correlation_group g;
	struct table t;

	(void)state;
	fill(&t);
	for (size_t i = 0; i < JOBS; i++)
		t.failed[i] = t.value[i] > 0.35 && t.value[i] < 0.65;
	g = group_of(&t, 1);
	assert_true(correlation_find(&g, 1, 1, NULL, &f));
	assert_int_equal(f.list.len, 1);
	assert_true(fabs(f.list.at[0].from - 0.35) < 0.1 && fabs(f.list.at[0].to - 0.65) < 0.1);
	assert_int_equal(f.list.at[0].outside.failed, 0);
	correlation_findings_done(&f);
}

static void test_correlation__gives_fishers_p_for_yes_and_no(void **state)
{
	struct correlation_findings f;
	struct correlation_group g;
	struct table t;

	(void)state;
	for (size_t i = 0; i < JOBS; i++) {
		t.value[i] = i % 3 == 0;
		t.failed[i] = i % 3 == 0 ? i % 2 : i % 10 == 1;
	}
	g = group_of(&t, 1);
	assert_true(correlation_find(&g, 1, 1, NULL, &f));
	assert_int_equal(f.list.len, 1);
	assert_true(f.list.at[0].from == 0.5);
	assert_true(fabs(f.list.at[0].p - rate_fisher(f.list.at[0].inside, f.list.at[0].outside)) <
	            1e-12);
	correlation_findings_done(&f);
}

static void test_correlation__leaves_out_jobs_whose_value_is_not_known(void **state)
{
	struct correlation_findings f;
	struct correlation_group g;
	struct table t;

	(void)state;
	fill(&t);
	for (size_t i = 0; i < JOBS; i++) {
		t.failed[i] = t.value[i] > 0.6;
		if (i % 6 == 0)
			t.value[i] = NAN;
	}
	g = group_of(&t, 1);
	assert_true(correlation_find(&g, 1, 1, NULL, &f));
	assert_int_equal(f.list.len, 1);
	assert_int_equal(f.list.at[0].inside.jobs + f.list.at[0].outside.jobs, JOBS - JOBS / 6);
	correlation_findings_done(&f);
}

/* All jobs of one type fail, none of the other: that is no property of either. */
static void test_correlation__does_not_compare_jobs_of_two_types(void **state)
{
	struct correlation_group g[2];
	struct correlation_findings f;
	struct table small, large;

	(void)state;
	fill(&small);
	fill(&large);
	for (size_t i = 0; i < JOBS; i++) {
		small.failed[i] = false;
		large.failed[i] = true;
		large.value[i] += 10;
	}
	g[0] = group_of(&small, 1);
	g[1] = group_of(&large, 1);
	assert_true(correlation_find(g, 2, 1, NULL, &f));
	assert_int_equal(f.tests, 0);
	assert_int_equal(f.list.len, 0);
	correlation_findings_done(&f);
}

static void test_correlation__is_the_same_for_the_same_seed(void **state)
{
	struct correlation_findings a, b;
	struct correlation_group g;
	struct table t;

	(void)state;
	fill(&t);
	for (size_t i = 0; i < JOBS; i++)
		t.failed[i] = scatter(i * 29 + 5) < (t.value[i] > 0.6 ? 0.7 : 0.1);
	g = group_of(&t, FEATURES);
	assert_true(correlation_find(&g, 1, 7, NULL, &a));
	assert_true(correlation_find(&g, 1, 7, NULL, &b));
	assert_int_equal(a.list.len, b.list.len);
	assert_int_equal(a.list.len, 1);
	assert_true(a.list.at[0].q == b.list.at[0].q && a.list.at[0].p == b.list.at[0].p);
	correlation_findings_done(&a);
	correlation_findings_done(&b);
}

/* Two failures among five jobs: even the clearest order has a probability of one in five. */
static void test_correlation__claims_nothing_that_five_jobs_cannot_show(void **state)
{
	const double value[] = { 1, 2, 3, 4, 5 };
	const bool failed[] = { false, false, false, true, true };
	const struct correlation_group g = { 5, 1, failed, value };
	struct correlation_findings f;

	(void)state;
	assert_true(correlation_find(&g, 1, 1, NULL, &f));
	assert_int_equal(f.tests, 1);
	assert_int_equal(f.list.len, 0);
	correlation_findings_done(&f);
}

static void test_correlation__ends_when_it_is_cancelled(void **state)
{
	const atomic_bool cancel = true;
	struct correlation_findings f;
	struct correlation_group g;
	struct table t;

	(void)state;
	fill(&t);
	for (size_t i = 0; i < JOBS; i++)
		t.failed[i] = t.value[i] > 0.7;
	g = group_of(&t, FEATURES);
	assert_false(correlation_find(&g, 1, 1, &cancel, &f));
	assert_int_equal(f.list.len, 0);
	correlation_findings_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_correlation__finds_nothing_where_failures_are_independent),
		cmocka_unit_test(
			test_correlation__finds_a_step_and_its_limit_among_other_properties),
		cmocka_unit_test(test_correlation__reports_the_lower_side_if_that_fails_more),
		cmocka_unit_test(test_correlation__finds_a_range_in_the_middle),
		cmocka_unit_test(test_correlation__gives_fishers_p_for_yes_and_no),
		cmocka_unit_test(test_correlation__leaves_out_jobs_whose_value_is_not_known),
		cmocka_unit_test(test_correlation__does_not_compare_jobs_of_two_types),
		cmocka_unit_test(test_correlation__is_the_same_for_the_same_seed),
		cmocka_unit_test(test_correlation__claims_nothing_that_five_jobs_cannot_show),
		cmocka_unit_test(test_correlation__ends_when_it_is_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
