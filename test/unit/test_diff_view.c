/* SPDX-License-Identifier: MIT */
#include "report/diff_report.h"

#include <math.h>
#include <time.h>

#include "check.h"
#include "model_kit.h"
#include "view/diff_verdict.h"
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
	diff_view(&(struct diff_input){ .a = &a, .b = &b }, CANVAS(&style, &out));
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
	diff_view_json(&(struct diff_input){ .a = &a, .b = &b }, &j);
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

static void test_diff_bound__knows_what_a_ratio_of_bounds_means(void **state)
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

static void test_diff_ratio__of_two_lower_bounds_is_rough(void **state)
{
	struct figure some = { 12 << 10, QUALITY_AT_LEAST }, none = { 0, QUALITY_AT_LEAST };

	assert_true(isnan(diff_ratio((struct diff_pair){ none, some })));
	assert_true(diff_ratio((struct diff_pair){ some, some }) == 1);
	assert_int_equal(diff_bound((struct diff_pair){ some, some }), DIFF_ROUGH);
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
	diff_view(&(struct diff_input){ .a = &a, .b = &b },
	          CANVAS((&(struct style){ .width = 80, .unicode = true }), &out));
	assert_non_null(strstr(out.at, "≥43m 15s   ~same\n"));
	assert_non_null(strstr(out.at, "  ≥2.00×\n"));
	for (const char *line = strstr(out.at, "\nstarted") + 1; *line != '\n'; line++)
		assert_false(strncmp(line, "same", 4) == 0);
	buf_done(&out);
}

static void test_diff_view__shows_no_ratio_without_meaning(void **state)
{
	struct report a = { .job = kit_good_job() }, b = { .job = kit_good_job() };
	struct buf out = { 0 };

	b.job.figures[JOB_FIGURE_CPU].value = 0;
	b.job.figures[JOB_FIGURE_CPU].quality = QUALITY_AT_MOST;
	b.job.figures[JOB_FIGURE_READ].value = 4096;
	b.job.figures[JOB_FIGURE_WRITTEN] = (struct figure){ 4096, QUALITY_AT_LEAST };
	diff_view(&(struct diff_input){ .a = &a, .b = &b },
	          CANVAS((&(struct style){ .width = 80, .unicode = true }), &out));
	assert_null(strstr(out.at, "0.00×"));
	assert_null(strstr(out.at, "0×\n"));
	assert_non_null(strstr(out.at, "4.0 KiB  <0.01×\n"));
	assert_non_null(strstr(out.at, "≥4.0 KiB       -\n"));
	buf_done(&out);
}

static void assert_verdict(const struct report *a, const struct report *b, const char *wanted)
{
	struct diff d = { 0 };
	struct buf out = { 0 };

	diff_match(a, b, &d);
	diff_verdict(a, b, &d, true, &out);
	assert_string_equal(out.at, wanted);
	diff_done(&d);
	buf_done(&out);
}

static void test_diff_verdict__puts_first_what_matters(void **state)
{
	struct report a = make(kit_good_job(), 2, 1), b = make(kit_good_job(), 2, 1);

	a.job.figures[JOB_FIGURE_CPU] = kit_exact(15 * NS_PER_MS);
	b.job.figures[JOB_FIGURE_CPU] = kit_exact(4 * NS_PER_MS);
	assert_verdict(&a, &b, "time and memory unchanged; CPU too short to compare");
	a.job.figures[JOB_FIGURE_CPU] = b.job.figures[JOB_FIGURE_CPU] =
		kit_good_job().figures[JOB_FIGURE_CPU];
	assert_verdict(&a, &b, "time, CPU and memory unchanged");
	b.job.took_ns += 250 * NS_PER_S;
	b.sheets.at[1].s.ended_ns += 240 * NS_PER_S;
	b.job.figures[JOB_FIGURE_CPU].value *= 2;
	assert_verdict(&a, &b,
	               "1.3× slower, mostly sheet 2 (fit); 2.0× more CPU; memory unchanged");
	assert_verdict(&b, &a,
	               "1.3× faster, mostly sheet 2 (fit); 2.0× less CPU; memory unchanged");
	b.job.figures[JOB_FIGURE_CPU].quality = QUALITY_AT_LEAST;
	assert_verdict(
		&a, &b,
		"1.3× slower, mostly sheet 2 (fit); at least 2.0× more CPU; memory unchanged");
	assert_verdict(
		&b, &a,
		"1.3× faster, mostly sheet 2 (fit); at least 2.0× less CPU; memory unchanged");
	report_done(&a);
	report_done(&b);
}

static void test_diff_verdict__distinguishes_a_failure_from_speed(void **state)
{
	struct report a = { .job = kit_good_job() }, b = { .job = kit_oom_job() };

	assert_verdict(&a, &b,
	               "out of memory (own limit 8.0 GiB) instead of ok; 4.1× shorter; about 1.3× "
	               "more memory; CPU not comparable");
	b = (struct report){ .job = { .status = JOB_RUNNING } };
	assert_verdict(&a, &b, "running instead of ok; time, CPU and memory not comparable");
}

static void test_diff_verdict__takes_the_largest_process_where_used_is_missing(void **state)
{
	struct report a = { .job = kit_good_job() }, b = { .job = kit_good_job() };

	a.job.figures[JOB_FIGURE_PEAK_USED] = (struct figure){ 0 };
	b.job.figures[JOB_FIGURE_PEAK_RSS].value /= 2;
	assert_verdict(&a, &b, "2.0× less memory in the largest process; time and CPU unchanged");
}

static void test_diff_view__of_a_median_names_the_runs(void **state)
{
	struct report a = { .job = kit_good_job() }, b = { .job = kit_good_job() };
	struct diff_input in = { .a = &a, .b = &b, .runs = 7, .wanted = 10 };
	struct buf out = { 0 };

	diff_view(&in, CANVAS((&(struct style){ .width = 80 }), &out));
	assert_non_null(strstr(out.at, "compared with the median of 7 successful runs of train.py; "
	                               "there are no more\n"));
	assert_null(strstr(out.at, "\nstarted"));
	assert_null(strstr(out.at, "\n  failed ")); /* both are 0 */
	buf_done(&out);
}

static void assert_words(const char *text, const struct report *a, const struct report *b,
                         const char *wanted)
{
	struct diff_condition c;
	struct err err = { 0 };
	struct buf out = { 0 };

	assert_int_equal(diff_condition_parse(scan_str(text), &c, &err), 0);
	diff_verdict_condition_words(&c, a, b, true, &out);
	assert_string_equal(out.at, wanted);
	buf_done(&out);
}

static void test_diff_verdict_condition_words__describe_what_was_found(void **state)
{
	struct report a = { .job = kit_good_job() }, b = { .job = kit_oom_job() };

	assert_words("time>1.2x", &a, &b, "time 3m 07s, 0.25× of 12m 41s");
	assert_words("time>10s", &a, &b, "time 3m 07s");
	assert_words("cpu>1.2x", &a, &b, "CPU ≥18m 40s, 0.43× of 43m 15s: not decided by bounds");
	assert_words("read>1.2x", &a, &b, "read is not known of align-91c2");
	assert_words("failed>1x", &a, &b, "failed 2, was 0");
}

static void test_diff_view__of_jobs_without_data_is_short(void **state)
{
	struct report a = { 0 }, b = { 0 };
	struct buf out = { 0 };

	diff_view(&(struct diff_input){ .a = &a, .b = &b },
	          CANVAS((&(struct style){ .width = 80 }), &out));
	assert_null(strstr(out.at, "Sheets"));
	assert_null(strstr(out.at, "Programs"));
	buf_done(&out);
}

RUN_TESTS(TEST(test_diff_bound__knows_what_a_ratio_of_bounds_means),
          TEST(test_diff_ratio__of_two_lower_bounds_is_rough),
          TEST(test_diff_view__does_not_call_bounds_or_times_the_same),
          TEST(test_diff_view__sets_two_jobs_side_by_side), TEST(test_diff_json__holds_the_same),
          TEST(test_diff_ratio__needs_both_figures),
          TEST(test_diff_view__shows_no_ratio_without_meaning),
          TEST(test_diff_verdict__puts_first_what_matters),
          TEST(test_diff_verdict__distinguishes_a_failure_from_speed),
          TEST(test_diff_verdict__takes_the_largest_process_where_used_is_missing),
          TEST(test_diff_view__of_a_median_names_the_runs),
          TEST(test_diff_verdict_condition_words__describe_what_was_found),
          TEST(test_diff_view__of_jobs_without_data_is_short))
