/* SPDX-License-Identifier: MIT */
#include "report/run_curves.h"

#include <math.h>

#include "check.h"
#include "model_kit.h"

static struct figure sampled(uint64_t value)
{
	return (struct figure){ value, QUALITY_SAMPLED };
}

static void add_sample(struct report *r, double at_s, uint64_t used, double cpu, uint64_t read)
{
	const struct job_sum_record s = {
		.wall_ns = KIT_AT(at_s),
		.sum = { .procs = 2,
		         .used = sampled(used),
		         .cpu_ratio = cpu,
		         .read = sampled(read) },
	};

	report_add_sum(r, &s);
}

static double value_of(const struct run_curve_set *set, size_t point, enum run_curve curve)
{
	assert_true(point < set->points.len);
	return set->points.at[point].values[curve].mean;
}

static struct report report_of(uint64_t interval_ns)
{
	return (struct report){ .job = { .started_ns = KIT_STARTED_NS,
		                         .interval_ns = interval_ns } };
}

/* What was found holds until the next sample; what flowed is that of the time before the sample. */
static void test_run_curves__has_a_point_for_each_time_between_samples(void **state)
{
	struct report r = report_of(NS_PER_S);
	struct run_curve_set set = { 0 };

	add_sample(&r, 1, 100, 0.5, 1000);
	add_sample(&r, 2, 300, NAN, 3000);
	run_curve_set_make(&r, 3 * NS_PER_S, &set);
	assert_int_equal(set.points.len, 3);
	assert_false(set.is_joined);
	assert_true(set.points.at[0].at_s == 0 && set.points.at[1].at_s == 1 &&
	            set.points.at[2].at_s == 2);
	assert_true(isnan(value_of(&set, 0, RUN_CURVE_USED)));
	assert_true(value_of(&set, 1, RUN_CURVE_USED) == 100);
	assert_true(value_of(&set, 2, RUN_CURVE_USED) == 300);
	assert_true(value_of(&set, 0, RUN_CURVE_CPU) == 0.5);
	assert_true(isnan(value_of(&set, 1, RUN_CURVE_CPU)));
	assert_true(value_of(&set, 0, RUN_CURVE_READ) == 1000);
	assert_true(value_of(&set, 1, RUN_CURVE_READ) == 2000);
	assert_true(set.has[RUN_CURVE_CPU]);
	assert_false(set.has[RUN_CURVE_GPU_OWN]);
	run_curve_set_done(&set);
	report_done(&r);
}

static void test_run_curves__has_none_of_a_single_sample(void **state)
{
	struct report r = report_of(NS_PER_S);
	struct run_curve_set set = { 0 };

	add_sample(&r, 1, 100, 0.5, 1000);
	run_curve_set_make(&r, 3 * NS_PER_S, &set);
	assert_int_equal(set.points.len, 0);
	report_done(&r);
}

static void test_run_curves__leaves_a_gap_where_nothing_was_stored(void **state)
{
	struct report r = report_of(NS_PER_S);
	struct run_curve_set set = { 0 };

	add_sample(&r, 1, 100, 1, 0);
	add_sample(&r, 60, 200, 0.5, 0);
	run_curve_set_make(&r, 61 * NS_PER_S, &set);
	assert_int_equal(set.points.len, 5);
	assert_true(value_of(&set, 1, RUN_CURVE_USED) == 100);
	assert_true(isnan(value_of(&set, 1, RUN_CURVE_CPU)));
	assert_true(set.points.at[2].at_s == 2 && set.points.at[3].at_s == 59);
	for (enum run_curve c = 0; c < RUN_CURVE_COUNT; c++)
		assert_true(isnan(value_of(&set, 2, c)));
	assert_true(isnan(value_of(&set, 3, RUN_CURVE_USED)));
	assert_true(value_of(&set, 3, RUN_CURVE_CPU) == 0.5);
	assert_true(value_of(&set, 4, RUN_CURVE_USED) == 200);
	run_curve_set_done(&set);
	report_done(&r);
}

/* A counter that restarted has no rate. */
static void test_run_curves__knows_no_rate_over_a_restarted_counter(void **state)
{
	struct report r = report_of(NS_PER_S);
	struct run_curve_set set = { 0 };

	add_sample(&r, 1, 100, 1, 5000);
	add_sample(&r, 2, 100, 1, 10);
	run_curve_set_make(&r, 2 * NS_PER_S, &set);
	assert_true(isnan(value_of(&set, 1, RUN_CURVE_READ)));
	run_curve_set_done(&set);
	report_done(&r);
}

static void test_run_curves__joins_many_samples_and_keeps_least_and_most(void **state)
{
	struct report r = report_of(NS_PER_S);
	struct run_curve_set set = { 0 };
	double most = 0, least = INFINITY;

	for (int i = 1; i <= 10000; i++)
		add_sample(&r, i, i == 5000 ? 999999 : i == 7000 ? 1 : 500, 1, 0);
	run_curve_set_make(&r, 10000 * NS_PER_S, &set);
	assert_true(set.is_joined);
	assert_in_range(set.points.len, 800, RUN_CURVE_POINTS + 1);
	vec_each(&set.points, p) {
		const struct run_curve_value *v = &p->values[RUN_CURVE_USED];

		assert_true(isnan(v->mean) || (v->low <= v->mean && v->mean <= v->high));
		most = fmax(most, v->high);
		least = fmin(least, v->low);
	}
	assert_true(most == 999999 && least == 1);
	run_curve_set_done(&set);
	report_done(&r);
}

static void add_run(struct run_band *band, uint64_t used, int seconds)
{
	struct report r = report_of(NS_PER_S);
	struct run_curve_set set = { 0 };

	for (int i = 1; i < seconds; i++)
		add_sample(&r, i, used, 1, 0);
	run_curve_set_make(&r, (uint64_t)seconds * NS_PER_S, &set);
	run_band_add(band, &set, seconds);
	run_curve_set_done(&set);
	report_done(&r);
}

static void test_run_band__spans_earlier_runs_as_long_as_they_ran(void **state)
{
	struct run_band band;
	size_t half = RUN_BAND_POINTS / 2 + 2;

	run_band_begin(&band, 100 * NS_PER_S);
	assert_true(isnan(band.at[5][RUN_CURVE_USED].high));
	add_run(&band, 100, 100);
	add_run(&band, 300, 50);
	assert_int_equal(band.runs, 2);
	assert_true(band.at[20][RUN_CURVE_USED].low == 100 &&
	            band.at[20][RUN_CURVE_USED].high == 300);
	assert_true(band.at[half][RUN_CURVE_USED].low == 100 &&
	            band.at[half][RUN_CURVE_USED].high == 100);
	assert_true(isnan(band.at[20][RUN_CURVE_GPU_OWN].low));
}

RUN_TESTS(TEST(test_run_curves__has_a_point_for_each_time_between_samples),
          TEST(test_run_curves__has_none_of_a_single_sample),
          TEST(test_run_curves__leaves_a_gap_where_nothing_was_stored),
          TEST(test_run_curves__knows_no_rate_over_a_restarted_counter),
          TEST(test_run_curves__joins_many_samples_and_keeps_least_and_most),
          TEST(test_run_band__spans_earlier_runs_as_long_as_they_ran))
