/* SPDX-License-Identifier: MIT */
#include "report/diff_report.h"

#include <math.h>
#include <time.h>

#include "check.h"
#include "model_kit.h"
#include "view/diff_view.h"

static struct report make(struct job job, uint32_t sheets, double slower)
{
	struct report r = { .job = job, .now_ns = KIT_AT(3600) };

	for (uint32_t i = 1; i <= sheets; i++) {
		struct sheet_record s = kit_sheet(i, i == 2 ? "fit" : "prepare", 100 * (i - 1),
		                                  100 * (i - 1) + 50 * slower);

		report_add_sheet(&r, &s);
	}
	for (pid_t pid = 1; pid <= 20; pid++) {
		struct process_record p = kit_process(pid, pid % 2 ? "cc1" : "as", "", 0,
		                                      pid % 2 ? 2 * slower : 1);

		report_add_process(&r, &p);
	}
	return r;
}

static void set_up(struct report *a, struct report *b)
{
	struct process_record only_b = kit_process(77, "ld", "", 0, 3);

	setenv("TZ", "UTC", 1);
	tzset();
	*a = make(kit_good_job(), 2, 1);
	*b = make(kit_oom_job(), 3, 1.5);
	report_add_process(b, &only_b);
	b->sheets.at[1].s.status = JOB_FAILED;
	b->sheets.at[1].s.exit_code = 1;
}

static void assert_view(struct style style, const char *golden)
{
	struct report a, b;
	struct buf out = { 0 };

	set_up(&a, &b);
	diff_view(&a, &b, CANVAS(&style, &out));
	assert_golden(golden, &out);
	assert_null(strstr(out.at, " \n"));
	buf_done(&out);
	report_done(&a);
	report_done(&b);
}

static void test_diff_view__sets_two_jobs_side_by_side(void **state)
{
	assert_view((struct style){ .width = 100, .unicode = true }, "diff-100.txt");
	assert_view((struct style){ .width = 40 }, "diff-40.txt");
}

static void test_diff_json__holds_the_same(void **state)
{
	struct report a, b;
	struct buf out = { 0 };
	struct json j = { .out = &out };

	set_up(&a, &b);
	diff_json(&a, &b, &j);
	buf_putc(&out, '\n');
	assert_golden("diff.json", &out);
	buf_done(&out);
	report_done(&a);
	report_done(&b);
}

static void test_diff_ratio__needs_both_figures(void **state)
{
	struct figure two = kit_exact(2), one = kit_exact(1), zero = kit_exact(0), none = { 0 };

	assert_true(diff_ratio((struct diff_pair){ one, two }) == 2);
	assert_true(diff_ratio((struct diff_pair){ one, zero }) == 0);
	assert_true(isnan(diff_ratio((struct diff_pair){ zero, one })));
	assert_true(isnan(diff_ratio((struct diff_pair){ none, one })));
	assert_true(isnan(diff_ratio((struct diff_pair){ one, none })));
}

static void test_diff_bound__knows_what_a_ratio_of_bounds_says(void **state)
{
	struct figure exact = kit_exact(2), least = { 2, QUALITY_AT_LEAST },
		      seen = { 2, QUALITY_SAMPLED };

	assert_int_equal(diff_bound((struct diff_pair){ exact, exact }), DIFF_EXACT);
	assert_int_equal(diff_bound((struct diff_pair){ exact, least }), DIFF_AT_LEAST);
	assert_int_equal(diff_bound((struct diff_pair){ least, exact }), DIFF_AT_MOST);
	assert_int_equal(diff_bound((struct diff_pair){ seen, least }), DIFF_ROUGH);
	assert_int_equal(diff_bound((struct diff_pair){ exact, seen }), DIFF_ROUGH);
	least.quality = QUALITY_AT_MOST;
	assert_int_equal(diff_bound((struct diff_pair){ exact, least }), DIFF_AT_MOST);
	assert_int_equal(diff_bound((struct diff_pair){ least, exact }), DIFF_AT_LEAST);
}

static void test_diff_ratio__says_nothing_of_two_lower_bounds(void **state)
{
	struct figure some = { 12 << 10, QUALITY_AT_LEAST }, none = { 0, QUALITY_AT_LEAST };

	assert_true(isnan(diff_ratio((struct diff_pair){ some, none })));
	assert_true(isnan(diff_ratio((struct diff_pair){ some, some })));
	assert_true(diff_ratio((struct diff_pair){ kit_exact(12 << 10), some }) == 1);
	assert_true(diff_ratio((struct diff_pair){ some, kit_exact(12 << 10) }) == 1);
}

static void test_diff_view__does_not_call_bounds_or_times_the_same(void **state)
{
	struct report a = { .job = kit_good_job() }, b = { .job = kit_good_job() };
	struct buf out = { 0 };

	a.job.figures[JOB_FIGURE_CPU].quality = b.job.figures[JOB_FIGURE_CPU].quality =
		QUALITY_AT_LEAST;
	b.job.figures[JOB_FIGURE_READ].quality = QUALITY_AT_LEAST;
	b.job.figures[JOB_FIGURE_READ].value *= 2;
	diff_view(&a, &b, CANVAS((&(struct style){ .width = 80, .unicode = true }), &out));
	assert_non_null(strstr(out.at, "≥43m 15s       -\n"));
	assert_non_null(strstr(out.at, "  ≥2.00×\n"));
	for (const char *line = strstr(out.at, "\nstarted") + 1; *line != '\n'; line++)
		assert_false(strncmp(line, "same", 4) == 0);
	buf_done(&out);
}

static void test_diff_view__of_jobs_without_data_is_short(void **state)
{
	struct report a = { 0 }, b = { 0 };
	struct buf out = { 0 };

	diff_view(&a, &b, CANVAS((&(struct style){ .width = 80 }), &out));
	assert_null(strstr(out.at, "Sheets"));
	assert_null(strstr(out.at, "Programs"));
	buf_done(&out);
}

RUN_TESTS(TEST(test_diff_bound__knows_what_a_ratio_of_bounds_says),
          TEST(test_diff_ratio__says_nothing_of_two_lower_bounds),
          TEST(test_diff_view__does_not_call_bounds_or_times_the_same),
          TEST(test_diff_view__sets_two_jobs_side_by_side), TEST(test_diff_json__holds_the_same),
          TEST(test_diff_ratio__needs_both_figures),
          TEST(test_diff_view__of_jobs_without_data_is_short))
