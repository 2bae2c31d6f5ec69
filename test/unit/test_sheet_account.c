/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/clock.h"
#include "job/sheet_account.h"
#include "check.h"

#define MIB ((uint64_t)1 << 20)

struct fixture {
	struct sheet_accounts accounts;
	struct job_row row;
	struct snapshot snap;
	bool is_at_rest; /* in each sample */
};

static const struct proc_id opener = { 42, 1000 };

static struct proc_readings reading(uint64_t cpu_ms, uint64_t rss_mib, uint64_t peak_mib)
{
	struct proc_readings r = { 0 };

	readings_set(&r, PROC_CPU_TIME, cpu_ms * NS_PER_MS);
	readings_set(&r, PROC_RSS, rss_mib * MIB);
	readings_set(&r, PROC_PEAK_RSS, peak_mib * MIB);
	readings_set(&r, PROC_READ_BYTES, cpu_ms);
	return r;
}

static void begin(struct fixture *f, uint32_t num, struct proc_readings at)
{
	*(struct sheet *)vec_push(&f->row.sheets, 9) = (struct sheet){ .num = num, .attempt = 1 };
	assert_non_null(sheet_accounts_begin(&f->accounts, num, opener, &at, NS_PER_S));
}

static struct sheet *end(struct fixture *f, uint32_t num, const struct proc_readings *at)
{
	struct sheet *sheet = job_row_sheet(&f->row, num);

	vec_each(&f->accounts, a)
		if (a->num == num)
			sheet_account_end(a, at, 3 * NS_PER_S);
	sheet->status = JOB_COMPLETED;
	sheet_accounts_settle(&f->accounts, &f->row, 3 * NS_PER_S);
	return sheet;
}

static void sample(struct fixture *f, struct proc_readings at)
{
	struct proc_snap *p = vec_push(&f->snap.procs, 9);

	*p = (struct proc_snap){ .s = { .id = opener, .r = at },
		                 .cpu_ratio = f->is_at_rest ? 0 : 0.5 };
	sheet_accounts_take(&f->accounts, &f->snap);
	f->snap.procs.len = 0;
}

static void done(struct fixture *f)
{
	sheet_accounts_done(&f->accounts);
	vec_done(&f->row.sheets);
	snapshot_done(&f->snap);
}

static void assert_figure(const struct sheet *s, enum sheet_figure id, uint64_t value,
                          enum quality quality)
{
	assert_int_equal(s->own.figures[id].quality, quality);
	assert_int_equal(s->own.figures[id].value, value);
}

static void test_sheet_account__has_the_difference_between_begin_and_end(void **state)
{
	struct proc_readings last = reading(5500, 40, 900);
	struct fixture f = { 0 };
	struct sheet *s;

	(void)state;
	begin(&f, 1, reading(5000, 30, 900));
	sample(&f, reading(5200, 200, 900));
	s = end(&f, 1, &last);
	assert_figure(s, SHEET_FIGURE_CPU, 500 * NS_PER_MS, QUALITY_EXACT);
	assert_figure(s, SHEET_FIGURE_READ, 500, QUALITY_EXACT);
	assert_figure(s, SHEET_FIGURE_WRITTEN, 0, QUALITY_MISSING);
	assert_figure(s, SHEET_FIGURE_PEAK_RSS, 200 * MIB, QUALITY_SAMPLED); /* the mark is older */
	assert_true(fabs(s->own.max_cpu_ratio - 0.25) < 1e-9);
	assert_int_equal(f.accounts.len, 0);
	done(&f);
}

static void test_sheet_account__has_no_cpu_share_when_it_was_seen_at_rest_alone(void **state)
{
	struct proc_readings last = reading(5001, 40, 900);
	struct fixture f = { .is_at_rest = true };

	begin(&f, 1, reading(5000, 30, 900));
	for (int i = 0; i < 3; i++)
		sample(&f, reading(5000, 30, 900));
	assert_true(isnan(end(&f, 1, &last)->own.max_cpu_ratio));
	done(&f);
}

static void test_sheet_account__counts_a_mark_that_rose_within_it(void **state)
{
	struct proc_readings last = reading(10, 30, 700);
	struct fixture f = { 0 };

	(void)state;
	begin(&f, 1, reading(0, 30, 300));
	assert_figure(end(&f, 1, &last), SHEET_FIGURE_PEAK_RSS, 700 * MIB, QUALITY_SAMPLED);
	done(&f);
}

static void test_sheet_account__has_no_figures_where_two_overlap(void **state)
{
	struct proc_readings last = reading(500, 30, 30);
	struct fixture f = { 0 };

	(void)state;
	begin(&f, 1, reading(0, 30, 30));
	begin(&f, 2, reading(100, 30, 30));
	assert_int_equal(end(&f, 1, &last)->own.lack, SHEET_LACKS_OVERLAP);
	assert_int_equal(end(&f, 2, &last)->own.lack, SHEET_LACKS_OVERLAP);
	begin(&f, 3, reading(500, 30, 30));
	assert_int_equal(end(&f, 3, &last)->own.lack, SHEET_LACKS_NOTHING);
	done(&f);
}

static void test_sheet_account__is_completed_by_totals_that_come_late(void **state)
{
	struct fixture f = { 0 };
	struct event *e;
	struct sheet *s;

	(void)state;
	begin(&f, 1, reading(1000, 30, 30));
	sample(&f, reading(1100, 30, 30));
	s = end(&f, 1, NULL);
	assert_figure(s, SHEET_FIGURE_CPU, 100 * NS_PER_MS, QUALITY_AT_LEAST);
	assert_int_equal(f.accounts.len, 1);
	s->is_shown = true;
	e = vec_push(&f.snap.events, 9);
	*e = (struct event){ .kind = EVENT_TOTALS, .id = opener, .final = reading(1300, 0, 80) };
	sheet_accounts_take(&f.accounts, &f.snap);
	sheet_accounts_settle(&f.accounts, &f.row, 4 * NS_PER_S);
	assert_figure(s, SHEET_FIGURE_CPU, 300 * NS_PER_MS, QUALITY_EXACT);
	assert_figure(s, SHEET_FIGURE_PEAK_RSS, 80 * MIB, QUALITY_SAMPLED);
	assert_false(s->is_shown);
	assert_int_equal(f.accounts.len, 0);
	done(&f);
}

static void test_sheet_account__adds_what_an_older_process_did_that_joined(void **state)
{
	const struct proc_id joined = { 43, 900 };
	struct proc_readings then = reading(9000, 90, 800), later = reading(9200, 100, 800);
	struct proc_readings last = reading(500, 30, 30);
	struct fixture f = { 0 };
	struct sheet *s;

	(void)state;
	begin(&f, 1, reading(0, 30, 30));
	sheet_accounts_join(&f.accounts, 1, joined, &then, NS_PER_S);
	sheet_accounts_join(&f.accounts, 1, joined, &later, NS_PER_S); /* it has before */
	*(struct event *)vec_push(&f.snap.events, 9) = (struct event){ .kind = EVENT_EXIT,
		                                                       .id = joined,
		                                                       .final = later };
	sheet_accounts_take(&f.accounts, &f.snap);
	s = end(&f, 1, &last);
	assert_figure(s, SHEET_FIGURE_CPU, 700 * NS_PER_MS, QUALITY_EXACT);
	assert_figure(s, SHEET_FIGURE_PEAK_RSS, 90 * MIB, QUALITY_SAMPLED);
	assert_figure(s, SHEET_FIGURE_READ, 0, QUALITY_MISSING);
	assert_int_equal(f.accounts.len, 0);
	done(&f);
}

static struct sheet_use use_of(uint64_t cpu_ns, enum quality quality, uint64_t processes)
{
	return (struct sheet_use){ .figures = { [SHEET_FIGURE_CPU] = { cpu_ns, quality } },
		                   .processes = processes,
		                   .max_cpu_ratio = (double)NAN };
}

static struct figure join_cpu(struct sheet_use own, struct sheet_use born, bool is_wrapper)
{
	return sheet_use_join(&own, &born, is_wrapper).figures[SHEET_FIGURE_CPU];
}

static void test_sheet_use__adds_those_born_in_it_to_its_opener(void **state)
{
	struct figure f = join_cpu(use_of(5, QUALITY_EXACT, 0), use_of(7, QUALITY_EXACT, 1), false);

	(void)state;
	assert_true(f.value == 12 && f.quality == QUALITY_EXACT);
	f = join_cpu(use_of(5, QUALITY_EXACT, 0), use_of(0, QUALITY_MISSING, 1), false);
	assert_true(f.value == 5 && f.quality == QUALITY_AT_LEAST);
	f = join_cpu(use_of(5, QUALITY_EXACT, 0), use_of(0, QUALITY_MISSING, 0), false);
	assert_true(f.value == 5 && f.quality == QUALITY_EXACT);
}

static void test_sheet_use__is_never_less_busy_than_its_mean(void **state)
{
	struct sheet_use own = use_of(330 * NS_PER_MS, QUALITY_EXACT, 0),
			 born = use_of(0, QUALITY_AT_LEAST, 3);

	(void)state;
	own.max_cpu_ratio = sheet_use_mean_cpu(own.figures[SHEET_FIGURE_CPU], NS_PER_S);
	born.max_cpu_ratio = 0.032;
	assert_true(fabs(sheet_use_join(&own, &born, true).max_cpu_ratio - 0.33) < 1e-9);
	born.max_cpu_ratio = 0.9;
	assert_true(fabs(sheet_use_join(&own, &born, true).max_cpu_ratio - 0.9) < 1e-9);
	assert_true(isnan(sheet_use_mean_cpu((struct figure){ 0 }, NS_PER_S)));
	assert_true(isnan(sheet_use_mean_cpu((struct figure){ 9, QUALITY_EXACT }, 10)));
}

static void test_sheet_use__is_what_wait4_returned_unless_the_processes_show_more(void **state)
{
	struct figure f = join_cpu(use_of(NS_PER_S, QUALITY_EXACT, 0),
	                           use_of(NS_PER_MS, QUALITY_AT_LEAST, 3), true);

	(void)state;
	assert_true(f.value == NS_PER_S && f.quality == QUALITY_EXACT);
	f = join_cpu(use_of(NS_PER_S, QUALITY_EXACT, 0), use_of(2 * NS_PER_S, QUALITY_AT_LEAST, 3),
	             true);
	assert_true(f.value == 2 * NS_PER_S && f.quality == QUALITY_AT_LEAST);
	f = join_cpu(use_of(0, QUALITY_MISSING, 0), use_of(3, QUALITY_EXACT, 3), true);
	assert_true(f.value == 3 && f.quality == QUALITY_EXACT);
}

RUN_TESTS(TEST(test_sheet_account__has_no_cpu_share_when_it_was_seen_at_rest_alone),
          TEST(test_sheet_account__has_the_difference_between_begin_and_end),
          TEST(test_sheet_account__counts_a_mark_that_rose_within_it),
          TEST(test_sheet_account__has_no_figures_where_two_overlap),
          TEST(test_sheet_account__is_completed_by_totals_that_come_late),
          TEST(test_sheet_account__adds_what_an_older_process_did_that_joined),
          TEST(test_sheet_use__adds_those_born_in_it_to_its_opener),
          TEST(test_sheet_use__is_never_less_busy_than_its_mean),
          TEST(test_sheet_use__is_what_wait4_returned_unless_the_processes_show_more))
