/* SPDX-License-Identifier: MIT */
/* Estimates of memory against values computed by hand, and their calibration on generated runs. */
#include "analyze/peak_estimator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/backtest.h"
#include "check.h"

#define GB 1e9

static void assert_near(double is, double expected)
{
	assert_true(fabs(is - expected) <= 1e-6 * fabs(expected));
}

/* ---- cost ---- */

static void test_allocation_cost__of_a_run_that_fits_is_what_it_does_not_use(void **state)
{
	unsigned failed;

	assert_near(peak_estimator_cost(10 * GB, 4 * GB, 3600, 0, &failed), 6 * GB * 3600);
	assert_int_equal(failed, 0);
}

static void test_allocation_cost__retries_at_the_largest_seen(void **state)
{
	unsigned failed;

	/* 2 GB fail, then 9 GB hold 5. */
	assert_near(peak_estimator_cost(2 * GB, 5 * GB, 10, 9 * GB, &failed), (2 + 4) * GB * 10);
	assert_int_equal(failed, 1);
}

static void test_allocation_cost__doubles_beyond_the_largest_seen(void **state)
{
	unsigned failed;

	/* 2, 3 (the largest), 6, 12 hold 7. */
	assert_near(peak_estimator_cost(2 * GB, 7 * GB, 1, 3 * GB, &failed), (2 + 3 + 6 + 5) * GB);
	assert_int_equal(failed, 3);
}

/* ---- baselines: peaks 1, 2, 3, 4, 10 GB on inputs 1, 2, 3, 4, 5 ---- */

static void learn_five(struct peak_baselines *b)
{
	static const double peaks[] = { 1, 2, 3, 4, 10 };

	*b = (struct peak_baselines){ 0 };
	for (size_t i = 0; i < 5; i++)
		peak_baselines_learn(b, (double)(i + 1), peaks[i] * GB, NULL);
}

static void test_peak_baselines__match_values_computed_by_hand(void **state)
{
	double p[BASELINE_COUNT];
	struct peak_baselines b;

	learn_five(&b);
	peak_baselines_predict(&b, 6, p);
	assert_near(p[BASELINE_P95], 8.8 * GB);  /* rank 3.8: 4 + 0.8 × 6 */
	assert_near(p[BASELINE_P99], 9.76 * GB); /* rank 3.96 */
	assert_near(p[BASELINE_MAX], 10 * GB);
	assert_near(p[BASELINE_MAX_MARGIN], 11 * GB);
	assert_near(p[BASELINE_MEAN_3SD], (4 + 3 * sqrt(10)) * GB); /* variance 50 / 5 */
	/* slope 20 / 10 = 2 around (3, 4): 10 at 6; residuals 1, 0, -1, -2, 2 */
	assert_near(p[BASELINE_LINEAR], 12 * GB);
	peak_baselines_done(&b);
}

static void test_peak_baselines__find_the_largest_residual_among_many_runs(void **state)
{
	struct peak_baselines b = { 0 };
	double x[300], y[300], p[BASELINE_COUNT], slope, residual = 0;
	uint64_t random = 1;

	for (size_t i = 0; i < 300; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		x[i] = 1 + (double)(random >> 40);
		y[i] = 1e9 + 50 * x[i] + (double)(random >> 33 & 0xfffffff);
		peak_baselines_learn(&b, x[i], y[i], NULL);
	}
	slope = b.line.xy / b.line.xx;
	for (size_t i = 0; i < 300; i++)
		residual = fmax(residual, y[i] - b.line.mean_y - slope * (x[i] - b.line.mean_x));
	peak_baselines_predict(&b, 1000, p);
	assert_near(p[BASELINE_LINEAR], b.line.mean_y + slope * (1000 - b.line.mean_x) + residual);
	peak_baselines_done(&b);
}

static void test_peak_baselines__follow_the_rule_that_wasted_least(void **state)
{
	static const double waste[BASELINE_COUNT] = { 5, 4, 3, 2, 1, 0.5 };
	double p[BASELINE_COUNT];
	struct peak_baselines b;

	learn_five(&b);
	peak_baselines_learn(&b, 6, 10 * GB, waste);
	peak_baselines_predict(&b, 6, p);
	assert_near(p[BASELINE_LEADER], p[BASELINE_MEAN_3SD]);
	assert_near(p[BASELINE_LEADER_INPUT], p[BASELINE_LINEAR]);
	peak_baselines_done(&b);
}

/* ---- the window ---- */

static void test_peak_stats__forgets_the_oldest_run_of_the_window(void **state)
{
	static struct peak_stats s;
	const struct peak_query none = { 0 };
	double c[CENTER_COUNT];

	for (int i = 0; i < PEAK_WINDOW; i++)
		peak_stats_learn(&s, &none, NULL, 8 * GB);
	for (int i = 0; i < PEAK_WINDOW; i++)
		peak_stats_learn(&s, &none, NULL, (1 + i % 2) * GB);
	peak_stats_centers(&s, &none, c);
	assert_int_equal(s.n_window, PEAK_WINDOW);
	assert_near(c[CENTER_LARGEST], 8 * GB);
	assert_near(c[CENTER_UPPER], 2 * GB);
	assert_near(c[CENTER_RECENT], 2 * GB);
	assert_near(c[CENTER_MEAN], 4.75 * GB);
}

static void test_peak_stats__finds_a_line_and_a_power_of_the_input(void **state)
{
	static struct peak_stats line, power;
	double c[CENTER_COUNT];

	for (int i = 1; i <= 9; i++) {
		const struct peak_query q = { .input_bytes = i * 1e6 };

		peak_stats_learn(&line, &q, NULL, 1 * GB + 500 * q.input_bytes);
		peak_stats_learn(&power, &q, NULL, 1e5 * sqrt(q.input_bytes));
	}
	peak_stats_centers(&line, &(struct peak_query){ .input_bytes = 2e7 }, c);
	assert_near(c[CENTER_LINE], 11 * GB);
	peak_stats_centers(&power, &(struct peak_query){ .input_bytes = 1.6e7 }, c);
	assert_near(c[CENTER_POWER], 4e8);
}

static void test_peak_stats__does_not_follow_a_steep_line_far_beyond_what_was_seen(void **state)
{
	static const double inputs[] = { 1.0e9, 1.1e9, 1.2e9 }, peaks[] = { 1, 2, 3 };
	static struct peak_stats s;
	double c[CENTER_COUNT];

	for (size_t i = 0; i < ARRAY_LEN(inputs); i++)
		peak_stats_learn(&s, &(struct peak_query){ .input_bytes = inputs[i] }, NULL,
		                 peaks[i] * GB);
	/* The line has 4 GB at 1.3 GB, and 111 at 12; in proportion it would be 30. */
	peak_stats_centers(&s, &(struct peak_query){ .input_bytes = 1.3e9 }, c);
	assert_near(c[CENTER_LINE], 4 * GB);
	peak_stats_centers(&s, &(struct peak_query){ .input_bytes = 12e9 }, c);
	assert_near(c[CENTER_LINE], 45 * GB);
}

/* ---- the whole estimator on generated runs ---- */

static double uniform(uint64_t *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return ((double)(*random >> 12) + 0.5) / (double)(UINT64_C(1) << 52);
}

static double normal(uint64_t *random)
{
	return sqrt(-2 * log(uniform(random))) * cos(2 * M_PI * uniform(random));
}

/* 40 types with 100 runs each; even ones depend on the input. */
static void replay(struct backtest *b, enum peak_policy policy, double sd)
{
	uint64_t random = 42;

	backtest_init(b, policy);
	for (int i = 0; i < 4000; i++) {
		struct past_run run = { .started_ns = (uint64_t)i,
			                .has = 1u << RUN_INPUT | 1u << RUN_REQUESTED };
		int type = i % 40;
		double input = exp(normal(&random) * 0.6), size = 1e8 * exp(0.15 * type);
		double peak = size * exp(sd * normal(&random)) * (type % 2 ? 1 : 0.5 + input);

		snprintf(run.type, sizeof run.type, "type%d", type);
		run.took_ns = (uint64_t)(100e9 * exp(0.5 * normal(&random)));
		run.peak_bytes = (uint64_t)peak;
		run.input_bytes = (uint64_t)(input * 1e9);
		run.requested_bytes = (uint64_t)(size * 20);
		backtest_add(b, &run);
	}
}

static double waste_of(const struct backtest *b, unsigned rule)
{
	return b->total.rules[rule].waste;
}

static void test_backtest__wastes_less_than_every_baseline(void **state)
{
	static const double sds[] = { 0.02, 0.1, 0.4 };

	for (size_t i = 0; i < ARRAY_LEN(sds); i++) {
		struct backtest b;

		replay(&b, PEAK_LOW_WASTE, sds[i]);
		for (unsigned rule = BACKTEST_PRESETS; rule < BACKTEST_RULES; rule++)
			assert_true(waste_of(&b, BACKTEST_OURS) < waste_of(&b, rule));
		backtest_done(&b);
	}
}

static void test_backtest__keeps_failures_below_their_target(void **state)
{
	struct backtest b;

	replay(&b, PEAK_LOW_FAILURE, 0.1);
	assert_true(backtest_failed_pct(&b.total, BACKTEST_OURS) <= 0.9);
	assert_true(waste_of(&b, BACKTEST_OURS) <
	            waste_of(&b, BACKTEST_BASELINES + BASELINE_MAX_MARGIN));
	backtest_done(&b);
}

static double request_after(struct backtest *b, double failed)
{
	const struct peak_query query = { .requested_bytes = 20e9 };
	struct peak_prediction p;

	b->experience.seen = 10000;
	b->experience.failed = failed;
	assert_true(peak_estimator_predict(&b->types.at[1]->estimator, &b->experience, &query, &p));
	return p.bytes;
}

static void test_peak_estimator__keeps_the_price_of_failures_while_they_are_neither_few_nor_many(
	void **state)
{
	struct backtest b;

	replay(&b, PEAK_LOW_FAILURE, 0.4);
	assert_near(request_after(&b, 51), request_after(&b, 64));
	assert_true(request_after(&b, 20) < request_after(&b, 51));
	assert_true(request_after(&b, 100) > request_after(&b, 64));
	backtest_done(&b);
}

static void test_backtest__covers_95_percent_of_runs_in_total_and_by_type(void **state)
{
	struct backtest b;

	replay(&b, PEAK_LOW_WASTE, 0.3);
	assert_true(fabs(backtest_coverage_pct(&b.total) - 95) <= 2);
	assert_int_equal(b.types.len, 40);
	vec_each(&b.types, t) {
		double coverage = backtest_coverage_pct(&(*t)->sums);

		assert_true(coverage >= 90 && coverage <= 99);
	}
	backtest_done(&b);
}

/* About a share c of predictions with confidence c were enough. */
static void test_peak_estimator__is_as_confident_as_it_is_right(void **state)
{
	static struct peak_estimator types[40];
	cleanup(freep) struct peak_experience *e = xcalloc(1, sizeof *e);
	double sum[10] = { 0 }, held[10] = { 0 }, n[10] = { 0 };
	uint64_t random = 7;

	peak_experience_init(e, PEAK_LOW_WASTE);
	for (int i = 0; i < 8000; i++) {
		double sd = 0.02 * (1 + i % 40);
		double peak = GB * exp(sd * normal(&random));
		const struct peak_query none = { 0 };
		struct peak_prediction p;
		bool is_predicted = peak_estimator_predict(&types[i % 40], e, &none, &p);
		size_t bin;

		peak_estimator_learn(&types[i % 40], e, &none, is_predicted ? &p : NULL, peak, 10);
		if (!is_predicted)
			continue;
		bin = (size_t)fmin(p.confidence * 10, 9);
		n[bin]++;
		sum[bin] += p.confidence;
		held[bin] += p.bytes >= peak;
	}
	for (size_t i = 0; i < 10; i++)
		if (n[i] >= 200)
			assert_true(fabs(sum[i] - held[i]) / n[i] <= 0.05);
}

/* sacct and Nextflow print whole seconds. */
static void test_peak_estimator__requests_what_runs_of_0_seconds_needed(void **state)
{
	for (int policy = 0; policy <= PEAK_LOW_FAILURE; policy++) {
		struct peak_experience e;
		struct peak_estimator t = { 0 };
		struct peak_prediction p;
		const struct peak_query query = { 0 };

		peak_experience_init(&e, (enum peak_policy)policy);
		for (int i = 0; i < 6; i++) {
			bool is_known = peak_estimator_predict(&t, &e, &query, &p);

			peak_estimator_learn(&t, &e, &query, is_known ? &p : NULL, 4 * GB, 0);
		}
		assert_true(peak_estimator_predict(&t, &e, &query, &p));
		assert_true(p.bytes >= 4 * GB && p.bytes <= 8 * GB);
	}
}

static void test_peak_estimator__does_not_take_two_runs_for_a_trend(void **state)
{
	struct peak_experience e;
	struct peak_estimator t = { 0 };
	struct peak_prediction p;
	const struct peak_query query = { 0 };

	peak_experience_init(&e, PEAK_LOW_FAILURE);
	peak_estimator_learn(&t, &e, &query, NULL, 1 * GB, 60);
	assert_true(peak_estimator_predict(&t, &e, &query, &p));
	peak_estimator_learn(&t, &e, &query, &p, 26 * GB, 60);
	assert_true(peak_estimator_predict(&t, &e, &query, &p));
	assert_true(peak_estimator_expected(&t, p.centers) <= 26 * GB);
	assert_true(p.upper_bytes >= 26 * GB);
}

static void test_backtest__keeps_types_sheets_and_bases_apart(void **state)
{
	struct past_run run = { .type = "a", .took_ns = 1, .peak_bytes = 1000000 };
	struct backtest b;

	backtest_init(&b, PEAK_LOW_WASTE);
	backtest_add(&b, &run);
	run.sheet = 1;
	backtest_add(&b, &run);
	run.basis = RUN_BASIS_PROCESS;
	backtest_add(&b, &run);
	backtest_add(&b, &run);
	assert_int_equal(b.types.len, 3);
	assert_int_equal(b.total.runs, 4);
	assert_int_equal(b.total.bounded, 1);
	backtest_done(&b);
}

RUN_TESTS(
	TEST(test_allocation_cost__of_a_run_that_fits_is_what_it_does_not_use),
	TEST(test_allocation_cost__retries_at_the_largest_seen),
	TEST(test_allocation_cost__doubles_beyond_the_largest_seen),
	TEST(test_peak_baselines__match_values_computed_by_hand),
	TEST(test_peak_baselines__find_the_largest_residual_among_many_runs),
	TEST(test_peak_baselines__follow_the_rule_that_wasted_least),
	TEST(test_peak_stats__forgets_the_oldest_run_of_the_window),
	TEST(test_peak_stats__finds_a_line_and_a_power_of_the_input),
	TEST(test_peak_stats__does_not_follow_a_steep_line_far_beyond_what_was_seen),
	TEST(test_backtest__wastes_less_than_every_baseline),
	TEST(test_peak_estimator__keeps_the_price_of_failures_while_they_are_neither_few_nor_many),
	TEST(test_backtest__keeps_failures_below_their_target),
	TEST(test_backtest__covers_95_percent_of_runs_in_total_and_by_type),
	TEST(test_peak_estimator__is_as_confident_as_it_is_right),
	TEST(test_peak_estimator__requests_what_runs_of_0_seconds_needed),
	TEST(test_peak_estimator__does_not_take_two_runs_for_a_trend),
	TEST(test_backtest__keeps_types_sheets_and_bases_apart))
