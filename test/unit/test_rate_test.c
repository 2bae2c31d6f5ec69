/* SPDX-License-Identifier: MIT */
#include "analyze/rate_test.h"

#include <math.h>

#include "check.h"

#define ASSERT_NEAR(a, b, within) assert_true(fabs((a) - (b)) <= (within))

/* Fisher's lady tasting tea: 3 of 4 cups right. */
static void test_rate_fisher__gives_the_published_values_of_the_tea_tasting(void **state)
{
	(void)state;
	ASSERT_NEAR(rate_fisher((struct rate){ 3, 4 }, (struct rate){ 1, 4 }), 0.4857, 5e-5);
	ASSERT_NEAR(rate_fisher((struct rate){ 4, 4 }, (struct rate){ 0, 4 }), 2.0 / 70, 1e-9);
}

/* Fisher's twins of convicts (1935): 10 of 13 and 2 of 17. */
static void test_rate_fisher__gives_the_published_values_of_the_twins(void **state)
{
	(void)state;
	ASSERT_NEAR(rate_fisher((struct rate){ 10, 13 }, (struct rate){ 2, 17 }), 0.0005367, 1e-7);
}

static void test_rate_fisher__is_1_without_jobs_or_without_a_difference(void **state)
{
	(void)state;
	ASSERT_NEAR(rate_fisher((struct rate){ 0, 0 }, (struct rate){ 2, 7 }), 1, 0);
	ASSERT_NEAR(rate_fisher((struct rate){ 2, 10 }, (struct rate){ 2, 10 }), 1, 1e-9);
	ASSERT_NEAR(rate_fisher((struct rate){ 0, 5 }, (struct rate){ 0, 5 }), 1, 1e-9);
}

/* Newcombe (1998), table II: 56 of 70 and 48 of 80 with 95 %. */
static void test_rate_newcombe__gives_the_published_intervals(void **state)
{
	struct rate_interval i = rate_newcombe((struct rate){ 56, 70 }, (struct rate){ 48, 80 },
	                                       1.959964);

	(void)state;
	ASSERT_NEAR(i.low, 0.0524, 5e-5);
	ASSERT_NEAR(i.high, 0.3339, 5e-5);
	i = rate_newcombe((struct rate){ 9, 10 }, (struct rate){ 3, 10 }, 1.959964);
	ASSERT_NEAR(i.low, 0.1705, 5e-5);
	ASSERT_NEAR(i.high, 0.8090, 5e-5);
}

/* Newcombe (1998), the other paper: 81 of 263 and 0 of 20. */
static void test_rate_wilson__gives_the_published_intervals(void **state)
{
	struct rate_interval i = rate_wilson((struct rate){ 81, 263 }, 1.959964);

	(void)state;
	ASSERT_NEAR(i.low, 0.2553, 5e-5);
	ASSERT_NEAR(i.high, 0.3662, 5e-5);
	i = rate_wilson((struct rate){ 0, 20 }, 1.959964);
	ASSERT_NEAR(i.low, 0, 1e-9);
	ASSERT_NEAR(i.high, 0.1611, 5e-5);
	i = rate_wilson((struct rate){ 0, 0 }, 1.959964);
	assert_true(i.low == 0 && i.high == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate_fisher__gives_the_published_values_of_the_tea_tasting),
		cmocka_unit_test(test_rate_fisher__gives_the_published_values_of_the_twins),
		cmocka_unit_test(test_rate_fisher__is_1_without_jobs_or_without_a_difference),
		cmocka_unit_test(test_rate_newcombe__gives_the_published_intervals),
		cmocka_unit_test(test_rate_wilson__gives_the_published_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
