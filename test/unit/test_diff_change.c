/* SPDX-License-Identifier: MIT */
#include "report/diff_change.h"

#include <math.h>

#include "check.h"
#include "model_kit.h"
#include "report/diff_baseline.h"

static struct figure of(double value, enum quality quality)
{
	return (struct figure){ (uint64_t)(value * 1e9), quality };
}

static void assert_change(struct figure a, struct figure b, enum diff_direction direction,
                          double factor)
{
	struct diff_change c = diff_change((struct diff_pair){ a, b }, UNIT_NS);

	assert_int_equal(c.direction, direction);
	assert_true(fabs(c.factor - factor) < 0.001);
}

static void test_diff_change__calls_small_differences_unchanged(void **state)
{
	assert_change(of(10, QUALITY_EXACT), of(10.4, QUALITY_EXACT), DIFF_UNCHANGED, 1);
	assert_change(of(10, QUALITY_EXACT), of(9.6, QUALITY_EXACT), DIFF_UNCHANGED, 1);
	assert_change(of(10, QUALITY_EXACT), of(13, QUALITY_EXACT), DIFF_MORE, 1.3);
	assert_change(of(13, QUALITY_EXACT), of(10, QUALITY_EXACT), DIFF_LESS, 1.3);
	assert_change(of(0.4, QUALITY_EXACT), of(0.41, QUALITY_EXACT), DIFF_UNCHANGED, 1);
	assert_change(of(0, QUALITY_EXACT), of(0, QUALITY_EXACT), DIFF_UNCHANGED, 1);
	assert_int_equal(
		diff_change((struct diff_pair){ kit_exact(3), kit_exact(4) }, UNIT_COUNT).direction,
		DIFF_MORE);
}

static void test_diff_change__does_not_judge_a_few_clock_ticks(void **state)
{
	assert_change(of(0.015, QUALITY_EXACT), of(0.004, QUALITY_EXACT), DIFF_TOO_SMALL, 1);
	assert_change(of(0, QUALITY_EXACT), of(0.009, QUALITY_EXACT), DIFF_TOO_SMALL, 1);
	assert_change(of(0.004, QUALITY_EXACT), of(0.04, QUALITY_EXACT), DIFF_MORE, 10);
	assert_change(of(0.004, QUALITY_EXACT), of(0.009, QUALITY_AT_LEAST), DIFF_MORE, 2.25);
	assert_int_equal(
		diff_change((struct diff_pair){ kit_exact(200 << 10), kit_exact(900 << 10) },
	                    UNIT_MIB)
			.direction,
		DIFF_TOO_SMALL);
}

static void test_diff_change__allows_samples_more_noise(void **state)
{
	assert_change(of(10, QUALITY_SAMPLED), of(10.8, QUALITY_EXACT), DIFF_UNCHANGED, 1);
	assert_change(of(10, QUALITY_SAMPLED), of(11.2, QUALITY_SAMPLED), DIFF_MORE, 1.12);
}

static void test_diff_change__takes_from_bounds_what_they_prove(void **state)
{
	assert_change(of(10, QUALITY_EXACT), of(13, QUALITY_AT_LEAST), DIFF_MORE, 1.3);
	assert_change(of(10, QUALITY_EXACT), of(10, QUALITY_AT_LEAST), DIFF_UNKNOWN, 1);
	assert_change(of(10, QUALITY_AT_LEAST), of(13, QUALITY_EXACT), DIFF_UNKNOWN, 1);
	assert_change(of(10, QUALITY_AT_LEAST), of(5, QUALITY_EXACT), DIFF_LESS, 2);
	assert_change(of(10, QUALITY_AT_LEAST), of(13, QUALITY_AT_LEAST), DIFF_MORE, 1.3);
	assert_change((struct figure){ 0 }, of(13, QUALITY_EXACT), DIFF_UNKNOWN, 1);
	assert_int_equal(
		diff_change((struct diff_pair){ of(10, QUALITY_AT_LEAST), of(5, QUALITY_EXACT) },
	                    UNIT_NS)
			.bound,
		DIFF_AT_LEAST);
}

static void add_sheet(struct report *to, uint32_t num, double from_s, double to_s)
{
	struct sheet_record s = kit_sheet(num, "x", from_s, to_s);

	report_add_sheet(to, &s);
}

static void test_diff_main_sheet__is_the_one_with_most_of_the_difference(void **state)
{
	struct report a = { 0 }, b = { 0 };
	struct diff_pair slower = { of(20, QUALITY_EXACT), of(30, QUALITY_EXACT) };
	struct diff d = { 0 };

	add_sheet(&a, 1, 0, 10);
	add_sheet(&a, 2, 10, 20);
	add_sheet(&b, 1, 0, 12);
	add_sheet(&b, 2, 12, 30);
	diff_match(&a, &b, &d);
	assert_int_equal(diff_main_sheet(&d, slower), 2);
	slower.b = of(50, QUALITY_EXACT); /* the sheets explain 10 s of 30 */
	assert_int_equal(diff_main_sheet(&d, slower), 0);
	slower.b = of(10, QUALITY_EXACT); /* faster, although they took longer */
	assert_int_equal(diff_main_sheet(&d, slower), 0);
	diff_done(&d);
	report_done(&a);
	report_done(&b);
}

static void test_diff_main_program__is_the_one_with_most_of_the_difference(void **state)
{
	struct report a = { 0 }, b = { 0 };
	struct diff_pair more = { of(3, QUALITY_EXACT), of(9, QUALITY_EXACT) };
	struct process_record p;
	struct diff d = { 0 };

	p = kit_process(1, "cc1", "", 0, 2);
	report_add_process(&a, &p);
	p = kit_process(2, "as", "", 0, 1);
	report_add_process(&a, &p);
	report_add_process(&b, &p);
	p = kit_process(1, "cc1", "", 0, 8);
	report_add_process(&b, &p);
	diff_match(&a, &b, &d);
	assert_string_equal(diff_main_program(&d, more), "cc1");
	diff_done(&d);
	report_done(&a);
	report_done(&b);
}

static void test_diff_baseline__is_the_median_of_each_figure_sheet_and_program(void **state)
{
	const struct report *runs[3];
	struct report all[3] = { 0 }, median = { 0 };

	for (int i = 0; i < 3; i++) {
		struct process_record p = kit_process(1, "cc1", "", 0, 2 + i);

		all[i].job = kit_good_job();
		all[i].job.took_ns = (uint64_t)(10 + i * i) * NS_PER_S;
		all[i].job.figures[JOB_FIGURE_CPU] = of(5 - i, QUALITY_EXACT);
		add_sheet(&all[i], 1, 0, 3 + i);
		if (i == 2)
			add_sheet(&all[i], 2, 10, 20);
		report_add_process(&all[i], &p);
		runs[i] = &all[i];
	}
	all[2].job.figures[JOB_FIGURE_READ] = (struct figure){ 0 };
	diff_baseline(runs, 3, &median);
	assert_string_equal(median.job.id, "median of 3");
	assert_string_equal(median.job.type, all[0].job.type);
	assert_int_equal(median.job.took_ns, 11 * NS_PER_S);
	assert_int_equal(median.job.figures[JOB_FIGURE_CPU].value, 4 * NS_PER_S);
	assert_int_equal(median.job.figures[JOB_FIGURE_CPU].quality, QUALITY_EXACT);
	assert_int_equal(median.job.figures[JOB_FIGURE_READ].quality, QUALITY_SAMPLED);
	assert_int_equal(median.sheets.len, 1); /* only one run had the other */
	assert_int_equal(median.sheets.at[0].s.ended_ns - median.sheets.at[0].s.started_ns,
	                 4 * NS_PER_S);
	assert_int_equal(median.programs.len, 1);
	assert_true(median.programs.at[0].cpu_time_ns.value ==
	            all[1].programs.at[0].cpu_time_ns.value);
	report_done(&median);
	for (int i = 0; i < 3; i++)
		report_done(&all[i]);
}

RUN_TESTS(TEST(test_diff_change__calls_small_differences_unchanged),
          TEST(test_diff_change__does_not_judge_a_few_clock_ticks),
          TEST(test_diff_change__allows_samples_more_noise),
          TEST(test_diff_change__takes_from_bounds_what_they_prove),
          TEST(test_diff_main_sheet__is_the_one_with_most_of_the_difference),
          TEST(test_diff_main_program__is_the_one_with_most_of_the_difference),
          TEST(test_diff_baseline__is_the_median_of_each_figure_sheet_and_program))
