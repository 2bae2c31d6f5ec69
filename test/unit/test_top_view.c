/* SPDX-License-Identifier: MIT */
#include "view/top_view.h"

#include <math.h>
#include <time.h>

#include "check.h"
#include "view/graph.h"

#define NOW_NS (UINT64_C(1794752587) * NS_PER_S)

static void add_process(struct frame *f, pid_t pid, int32_t job, uint32_t sheet, double cpu, double rss,
                        const char *command)
{
	struct frame_proc *p = frame_add_proc(f);

	p->pid = pid;
	p->ppid = 1;
	p->job = job;
	p->sheet = sheet;
	p->figure[FRAME_CPU] = cpu;
	p->figure[FRAME_MEM] = rss;
	p->figure[FRAME_IO] = cpu * 1e6;
	p->figure[FRAME_THREADS] = 4;
	p->figure[FRAME_FDS] = 12;
	p->age_ns = 492 * NS_PER_S;
	p->state = cpu > 0 ? 'R' : 'S';
	p->command = frame_keep_str(f, command);
}

static void add_sheet(struct frame *f, int32_t job, uint32_t num, const char *label, enum job_status status)
{
	struct frame_sheet *s = vec_push(&f->sheets, 100);

	*s = (struct frame_sheet){ .job = job,
		                   .num = num,
		                   .label = frame_keep_str(f, label),
		                   .status = status,
		                   .started_ns = NOW_NS - 300 * NS_PER_S };
}

static void add_event(struct frame *f, uint64_t ago_s, const char *kind, const char *job, const char *what,
                      enum severity severity)
{
	struct frame_event *e = vec_push(&f->events, 100);

	*e = (struct frame_event){ .wall_ns = NOW_NS - ago_s * NS_PER_S,
		                   .kind = frame_keep_str(f, kind),
		                   .job = frame_keep_str(f, job),
		                   .what = frame_keep_str(f, what),
		                   .severity = severity };
}

static void add_jobs(struct frame *f)
{
	struct frame_job *job = frame_add_job(f, (struct job_key){ 0, "train.py-7f3a" });
	struct frame_anomaly *a;

	job->started_ns = NOW_NS - 492 * NS_PER_S;
	job->total_sheets = 3;
	job->completed_sheets = 1;
	job->current_sheet = 2;
	job->measured[FRAME_CPU] = 4.12;
	job->measured[FRAME_MEM] = 6.1e9;
	job->limit_bytes = 33.5e9;
	job->limit_source = frame_keep_str(f, "machine");
	job->command = frame_keep_str(f, "python train.py --epochs 3");
	add_sheet(f, 0, 1, "prepare", JOB_COMPLETED);
	add_sheet(f, 0, 2, "fit", JOB_RUNNING);
	job = frame_add_job(f, (struct job_key){ 0, "align-91c2" });
	job->status = JOB_FAILED;
	job->result = frame_keep_str(f, "out of memory (own limit 8.0 GiB)");
	job->started_ns = NOW_NS - 200 * NS_PER_S;
	job->ended_ns = NOW_NS - 14 * NS_PER_S;
	a = vec_push(&f->anomalies, 10);
	a->job = frame_keep_str(f, "train.py-7f3a");
	a->what = frame_keep_str(f, "memory spike: python 2417 2.1 → 4.6 GiB in 24 s");
	a->severity = SEVERITY_HIGH;
	a->pid = 2417;
}

static void fill(struct frame *f)
{
	frame_reset(f);
	f->source = FRAME_DAEMON;
	f->head.wall_ns = NOW_NS;
	f->head.interval_s = 5;
	f->head.cpu_ratio = 0.62;
	f->head.cores = 8;
	f->head.mem_total = 33.5e9;
	f->head.mem_available = 10.5e9;
	f->head.swap_total = 0;
	f->head.psi_cpu = 0.2;
	f->head.psi_mem = 0.004;
	f->head.load[0] = f->head.load[1] = f->head.load[2] = 5.25;
	f->head.pressure = frame_keep_str(f, "medium");
	f->head.pressure_reason = frame_keep_str(f, "memory 72 % in use");
	add_jobs(f);
	add_process(f, 2417, 0, 2, 3.98, 4.8e9, "/usr/bin/python train.py --epochs 3");
	add_process(f, 2420, 0, 2, 0.14, 1.3e9, "loader");
	add_process(f, 2410, 0, 0, 0, 4e6, "bash");
	add_process(f, 1, -1, 0, 0, 12e6, "/sbin/init");
	add_process(f, 99, -1, 0, 0.021, 3e6, "evil\x1b[2J\nname");
	add_event(f, 14, "oom", "align-91c2", "bwa-mem 8121 killed (own limit 8.0 GiB)", SEVERITY_HIGH);
	add_event(f, 300, "sheet", "train.py-7f3a", "sheet 2 fit began", SEVERITY_LOW);
	frame_complete(f, NULL);
}

static void draw(size_t width, size_t height, bool unicode, struct top_state *s, struct buf *out)
{
	const struct style style = { .unicode = unicode, .width = width };
	struct top_layout layout;
	struct grid g = { 0 };
	struct frame f = { 0 };

	setenv("TZ", "UTC", 1);
	tzset();
	fill(&f);
	for (int i = 0; i < 8; i++)
		top_state_note(s, &f);
	top_state_arrange(s, &f);
	grid_begin(&g, width, height, unicode);
	top_view_scroll(s, &g);
	top_view(&f, s, true, &g, &layout);
	grid_show(&g, CANVAS(&style, out));
	grid_done(&g);
	frame_done(&f);
}

static void assert_screen(size_t width, size_t height, bool unicode, const char *golden)
{
	struct top_state s = { 0 };
	struct buf out = { 0 };

	draw(width, height, unicode, &s, &out);
	assert_golden(golden, &out);
	buf_done(&out);
	top_state_done(&s);
}

static void test_top_view__shows_the_job_that_eats_the_machine_first(void **state)
{
	assert_screen(80, 24, true, "top-80x24.txt");
	assert_screen(160, 50, true, "top-160x50.txt");
}

static void test_top_view__is_readable_in_a_small_terminal_without_unicode(void **state)
{
	assert_screen(40, 10, false, "top-40x10.txt");
}

static struct frame_anomaly anomaly_of(struct frame *f, const char *what, pid_t pid, enum severity severity)
{
	return (struct frame_anomaly){ .job = frame_keep_str(f, "train.py-7f3a"),
		                       .what = frame_keep_str(f, what),
		                       .severity = severity,
		                       .pid = pid };
}

/* The screen of a job with a spike, forty zombies, and a leak. */
static void draw_zombies(size_t width, size_t height, bool has_leak, struct buf *out)
{
	const struct style style = { .unicode = true, .width = width };
	struct top_state s = { 0 };
	struct top_layout layout;
	struct grid g = { 0 };
	struct frame f = { 0 };

	fill(&f);
	for (int i = 0; i < 40; i++) {
		char what[64];

		snprintf(what, sizeof what, "zombie: sh %d not reaped for 15 s", 3000 + i);
		*vec_push(&f.anomalies, 100) = anomaly_of(&f, what, 3000 + i, SEVERITY_MEDIUM);
		add_event(&f, 10, "anomaly", "train.py-7f3a", what, SEVERITY_MEDIUM);
		f.events.at[f.events.len - 1].is_anomaly = true;
	}
	if (has_leak)
		*vec_push(&f.anomalies, 100) = anomaly_of(&f, "memory leak: python 2417", 2417, SEVERITY_CRITICAL);
	top_state_note(&s, &f);
	top_state_arrange(&s, &f);
	grid_begin(&g, width, height, true);
	top_view(&f, &s, true, &g, &layout);
	grid_show(&g, CANVAS(&style, out));
	grid_done(&g);
	frame_done(&f);
	top_state_done(&s);
}

static void test_top_view__counts_anomalies_of_one_kind_in_one_line(void **state)
{
	struct buf out = { 0 };

	draw_zombies(120, 50, false, &out);
	assert_non_null(strstr(out.at, "zombie: sh 3000 not reaped for 15 s (40 times)"));
	assert_non_null(strstr(out.at, "zombie: sh 3039 not reaped for 15 s (40 times)"));
	assert_non_null(strstr(out.at, "memory spike: python"));
	assert_non_null(strstr(out.at, "sheet 2 fit began")); /* still on the timeline */
	buf_reset(&out);
	draw_zombies(80, 24, true, &out);
	assert_non_null(strstr(out.at, " memory leak: python 2417"));
	assert_null(strstr(out.at, "zombie: sh 3000"));
	assert_non_null(strstr(out.at, "\n mem "));
	assert_non_null(strstr(out.at, "\n cpu "));
	assert_non_null(strstr(out.at, "\n python train.py --epochs 3"));
	buf_done(&out);
}

static void test_top_view__fits_every_size(void **state)
{
	for (size_t width = 1; width <= 130; width += 3)
		for (size_t height = 1; height <= 50; height += 2) {
			struct top_state s = { .mode = (enum top_mode)((width + height) % (TOP_READING + 1)) };
			struct buf out = { 0 };
			size_t lines = 0;

			draw(width, height, width % 2, &s, &out);
			for (size_t i = 0; i < out.len; i++)
				lines += out.at[i] == '\n';
			assert_int_equal(lines, height);
			buf_done(&out);
			top_state_done(&s);
		}
}

static void test_top_state__keeps_the_selection_when_rows_move(void **state)
{
	struct top_state s = { 0 };
	struct frame f = { 0 };

	fill(&f);
	top_state_arrange(&s, &f);
	snprintf(s.search, sizeof s.search, "loader");
	assert_true(top_state_find(&s, &f, true));
	assert_int_equal(f.procs.at[top_state_row(&s)->index].pid, 2420);
	s.sort = TOP_SORT_PID;
	s.is_reversed = true;
	top_state_arrange(&s, &f);
	assert_int_equal(f.procs.at[top_state_row(&s)->index].pid, 2420);
	top_state_toggle(&s, top_state_job_key(&f, 0));
	top_state_arrange(&s, &f);
	assert_int_not_equal(top_state_row(&s)->key, top_state_proc_key(2420));
	frame_done(&f);
	top_state_done(&s);
}

static void test_top_state__filters_by_the_text_of_rows(void **state)
{
	struct top_state s = { .filter = "TRAIN" };
	struct frame f = { 0 };

	fill(&f);
	top_state_arrange(&s, &f);
	assert_int_equal(s.rows.len, 5); /* the job, its sheet and its three processes */
	frame_done(&f);
	top_state_done(&s);
}

static void test_frame__keeps_one_job_if_asked_to(void **state)
{
	struct frame f = { 0 };

	fill(&f);
	frame_complete(&f, &(struct job_key){ 0, "train.py-7f3a" });
	assert_int_equal(f.jobs.len, 1);
	assert_int_equal(f.procs.len, 3);
	assert_int_equal(f.procs_all, 5);
	frame_complete(&f, &(struct job_key){ 0, "nothing" });
	assert_int_equal(f.jobs.len + f.procs.len + f.sheets.len + f.events.len, 0);
	frame_done(&f);
}

static void test_top_state__tells_jobs_of_two_users_with_the_same_id_apart(void **state)
{
	struct frame f = { 0 };
	struct top_state s = { 0 };

	frame_reset(&f);
	for (int32_t job = 0; job < 2; job++) {
		frame_add_job(&f, (struct job_key){ 1000 + (uint32_t)job, "train" });
		add_sheet(&f, job, 1, "fit", JOB_RUNNING);
		add_process(&f, 50 + job, job, 1, 1, 1e6, "a");
	}
	*vec_push(&f.anomalies, 10) = (struct frame_anomaly){ .job = frame_keep_str(&f, "train"),
		                                              .job_uid = 1001,
		                                              .severity = SEVERITY_HIGH };
	assert_int_equal(frame_find_job(&f, (struct job_key){ 1001, "train" }), 1);
	assert_int_equal(frame_find_job(&f, (struct job_key){ 0, "train" }), -1);
	assert_false(frame_is_of_job(&f, f.anomalies.at[0].job, f.anomalies.at[0].job_uid,
	                             frame_job_key(&f, 0)));
	frame_complete(&f, NULL);
	top_state_arrange(&s, &f);
	for (size_t i = 0; i < s.rows.len; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(s.rows.at[i].key != s.rows.at[k].key);
	frame_complete(&f, &(struct job_key){ 1000, "train" });
	assert_true(f.jobs.len == 1 && f.procs.len == 1 && f.procs.at[0].pid == 50 &&
	            f.anomalies.len == 0);
	frame_done(&f);
	top_state_done(&s);
}

static void test_frame__adds_what_is_known_and_nothing_else(void **state)
{
	struct frame f = { 0 };

	frame_reset(&f);
	frame_add_job(&f, (struct job_key){ 0, "j" });
	add_process(&f, 5, 0, 0, NAN, 1e6, "a");
	frame_complete(&f, NULL);
	assert_true(isnan(f.jobs.at[0].figure[FRAME_CPU]));
	assert_true(f.jobs.at[0].figure[FRAME_MEM] == 1e6);
	frame_done(&f);
}

static void test_top_view__wraps_pages_and_scrolls_to_their_end(void **state)
{
	struct top_state s = { .mode = TOP_READING, .menu = 99, .page_title = "page" };
	struct buf out = { 0 };

	buf_puts(&s.page, "first\n  F1 h ?   trace the system calls of the process\n\nlast\n");
	draw(24, 7, true, &s, &out);
	assert_int_equal(s.menu, 2);
	assert_string_equal(out.at, "page\n\n     system calls of\n     the process\n\n last\n"
	                            "Esc back  ↑ ↓ scroll\n");
	buf_done(&out);
	top_state_done(&s);
}

static void draw_question(size_t width, pid_t pid, const char *name, struct buf *out)
{
	struct top_state s = { .mode = TOP_KILLING, .victim_pid = pid, .victim_count = pid ? 1 : 12 };

	snprintf(s.victim_name, sizeof s.victim_name, "%s", name);
	draw(width, 10, true, &s, out);
	top_state_done(&s);
}

static void test_top_view__names_what_is_to_be_killed_in_any_width(void **state)
{
	static const struct {
		size_t width;
		pid_t pid;
		const char *name, *question;
	} cases[] = {
		{ 80, 4711, "python train.py --epochs 3000 --rate 0.001",
		  "Send SIGTERM to python train.py --epochs … (pid 4711)?  y yes  n no  Tab SIGKILL\n" },
		{ 40, 4711, "python train.py --epochs 3", "SIGTERM to python train.p… 4711? y n Tab\n" },
		{ 40, 0, "train.py-7f3a", "SIGTERM to all 12 of train.py-…? y n Tab\n" },
		{ 120, 0, "train.py-7f3a",
		  "Send SIGTERM to all 12 processes of train.py-7f3a?  y yes  n no  Tab SIGKILL\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = { 0 };
		size_t len = strlen(cases[i].question);

		draw_question(cases[i].width, cases[i].pid, cases[i].name, &out);
		assert_true(out.len > len);
		assert_string_equal(out.at + out.len - len, cases[i].question);
		buf_done(&out);
	}
}

static void test_grid__puts_a_part_as_a_whole_or_not_at_all(void **state)
{
	const struct style style = { .width = 8 };
	struct buf out = { 0 };
	struct grid g = { 0 };

	grid_begin(&g, 8, 2, true);
	assert_int_equal(grid_part(&g, 0, 0, INK_PLAIN, "mem %d", 12), 6);
	assert_int_equal(grid_part(&g, 0, 6, INK_PLAIN, "/%d", 345), 6);
	assert_int_equal(grid_part(&g, 0, 6, INK_PLAIN, "G"), 7);
	grid_right(&g, 1, 8, 5, INK_PLAIN, "1,234,567"); /* no false figure */
	grid_show(&g, CANVAS(&style, &out));
	assert_string_equal(out.at, "mem 12G\n   1,23…\n");
	buf_done(&out);
	grid_done(&g);
}

static void test_grid__cuts_what_does_not_fit_and_keeps_wide_characters_whole(void **state)
{
	const struct style style = { .width = 5 };
	struct buf out = { 0 };
	struct grid g = { 0 };

	grid_begin(&g, 5, 3, true);
	grid_put(&g, 0, 0, 9, INK_PLAIN, "日本語");
	grid_put(&g, 1, 0, 9, INK_PLAIN, "日本");
	grid_put(&g, 1, 1, 1, INK_PLAIN, "x");
	grid_text(&g, 2, 0, 9, INK_PLAIN, "a\tb\x1b");
	grid_put(&g, 9, 9, 9, INK_PLAIN, "outside");
	grid_show(&g, CANVAS(&style, &out));
	assert_string_equal(out.at, "日本…\n x本\na…\n");
	buf_done(&out);
	grid_done(&g);
}

RUN_TESTS(TEST(test_top_view__shows_the_job_that_eats_the_machine_first),
          TEST(test_top_view__is_readable_in_a_small_terminal_without_unicode),
          TEST(test_top_view__counts_anomalies_of_one_kind_in_one_line),
          TEST(test_top_view__fits_every_size),
          TEST(test_top_state__keeps_the_selection_when_rows_move),
          TEST(test_top_state__filters_by_the_text_of_rows),
          TEST(test_frame__keeps_one_job_if_asked_to),
          TEST(test_top_state__tells_jobs_of_two_users_with_the_same_id_apart),
          TEST(test_frame__adds_what_is_known_and_nothing_else),
          TEST(test_top_view__wraps_pages_and_scrolls_to_their_end),
          TEST(test_top_view__names_what_is_to_be_killed_in_any_width),
          TEST(test_grid__puts_a_part_as_a_whole_or_not_at_all),
          TEST(test_grid__cuts_what_does_not_fit_and_keeps_wide_characters_whole))
