/* SPDX-License-Identifier: MIT */
/* What a job consists of: sheets, processes, events, sums over time; in stores of version 1, too.
 */
#include <errno.h>
#include <math.h>

#include "base/io.h"
#include "store_kit.h"

struct sheets {
	struct sheet_record at[8];
	size_t n;
};

static int add_sheet(void *self, const struct sheet_record *s)
{
	struct sheets *all = self;

	all->at[all->n++ % 8] = *s;
	return 0;
}

static struct sheets read_sheets(const char *dir, const char *job)
{
	struct history *r = open_reader(dir);
	struct sheets all = { .n = 0 };
	struct err err = { 0 };

	if (history_sheets(r, KEY(job), add_sheet, &all, &err) < 0)
		fail_msg("%s", err.msg);
	history_close(r);
	return all;
}

static void report_sheet(struct world *w, const struct sheet *sheet)
{
	*(struct sheet *)world_push(&w->snap.sheets) = *sheet;
}

static void put_snapshot(struct world *w, struct store *st)
{
	struct err err = { 0 };

	if (store_put(st, &w->snap, &err) < 0)
		fail_msg("%s", err.msg);
}

static void test_sheets__are_kept_as_they_were_reported(void **state)
{
	char *dir = world_dir();
	struct sheet one = { .num = 1, .label = "load the data", .pid = 42 };
	struct sheet two = { .num = 2 };
	struct sheets all;
	struct world w;
	struct store *st;

	(void)state;
	world_init(&w, 37);
	world_add_job(&w, "s");
	st = world_open(&w, dir);
	for (int i = 0; i < 30; i++)
		world_put(&w, st);
	world_tick(&w);
	one.started_ns = two.started_ns = w.wall_ns;
	report_sheet(&w, &one);
	report_sheet(&w, &two);
	put_snapshot(&w, st);
	all = read_sheets(dir, "s");
	assert_int_equal(all.n, 2);
	assert_int_equal(all.at[0].s.status, JOB_RUNNING);
	assert_string_equal(all.at[0].s.label, "load the data");
	assert_int_equal(all.at[0].s.started_ns, one.started_ns);
	assert_true(all.at[0].use.processes > 0); /* so far */
	world_tick(&w);
	one.status = JOB_FAILED;
	one.signal = 9;
	one.ended_ns = w.wall_ns;
	report_sheet(&w, &one);
	put_snapshot(&w, st);
	set_end(&w.jobs.at[0], JOB_FAILED);
	world_tick(&w);
	two.status = JOB_COMPLETED;
	two.has_exit_code = true;
	two.ended_ns = w.wall_ns;
	report_sheet(&w, &two);
	put_snapshot(&w, st);
	all = read_sheets(dir, "s");
	assert_int_equal(all.at[0].s.status, JOB_FAILED);
	assert_int_equal(all.at[0].s.signal, 9);
	assert_int_equal(all.at[0].s.ended_ns, one.ended_ns);
	assert_int_equal(all.at[0].s.pid, 42);
	assert_int_equal(all.at[1].s.status, JOB_COMPLETED);
	assert_true(all.at[1].s.has_exit_code && !all.at[0].s.has_exit_code);
	assert_int_equal(all.at[1].use.figures[SHEET_FIGURE_CPU].value / NS_PER_US,
	                 ask_int(dir, "SELECT sum(cpu_time_us) FROM process WHERE sheet = 2"));
	assert_int_equal(all.at[1].use.figures[SHEET_FIGURE_CPU].quality, QUALITY_AT_LEAST);
	assert_int_equal(all.at[1].use.processes,
	                 ask_int(dir, "SELECT processes FROM sheets WHERE sheet_num = 2"
	                              " AND job_id = 's' AND exit_code = 0"));
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

struct sums {
	struct job_sum_record at[256];
	size_t n;
};

static int add_sum(void *self, const struct job_sum_record *s)
{
	struct sums *all = self;

	all->at[all->n++ % 256] = *s;
	return 0;
}

static size_t read_sums(const char *dir, const char *job, size_t limit, struct sums *ret)
{
	struct history *r = open_reader(dir);
	struct err err = { 0 };
	int n;

	ret->n = 0;
	n = history_job_sums(r, KEY(job), limit, add_sum, ret, &err);
	if (n < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(n, ret->n);
	history_close(r);
	return ret->n;
}

static void put_sum(struct world *w, struct store *st, struct job_sum sum)
{
	world_tick(w);
	*(struct job_sum *)world_push(&w->snap.sums) = sum;
	put_snapshot(w, st);
}

static void test_job_sums__are_kept_a_snapshot_and_become_means(void **state)
{
	struct store_retention keep = { .downsampled_ns = 3600 * NS_PER_S,
		                        .events_ns = 3600 * NS_PER_S };
	char *dir = world_dir();
	struct err err = { 0 };
	struct sums sums;
	bool more = true;
	struct world w;
	struct store *st;

	(void)state;
	world_init(&w, 38);
	st = world_open(&w, dir);
	for (int i = 0; i < 20; i++) /* the minute is under way when the job begins */
		world_put(&w, st);
	world_add_job(&w, "s");
	for (uint32_t i = 0; i < 100; i++)
		put_sum(&w, st,
		        (struct job_sum){ .procs = i + 1,
		                          .rss_bytes = (uint64_t)(i + 1) << 20,
		                          .cpu_ratio = i ? 0.5 : NAN });
	set_end(&w.jobs.at[0], JOB_COMPLETED);
	put_sum(&w, st, (struct job_sum){ 0 });
	assert_int_equal(read_sums(dir, "s", 1000, &sums), 100);
	assert_int_equal(sums.at[0].sum.procs, 1);
	assert_true(isnan(sums.at[0].sum.cpu_ratio));
	assert_int_equal(sums.at[99].sum.rss_bytes, 100 << 20);
	assert_true(fabs(sums.at[99].sum.cpu_ratio - 0.5) < 1e-9);
	assert_int_equal(sums.at[1].wall_ns - sums.at[0].wall_ns, NS_PER_S);
	assert_int_equal(read_sums(dir, "s", 7, &sums), 7);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM job_samples WHERE job_id = 's'"
	                              " AND cpu_percent = 50.0"),
	                 99);
	vec_reset(&w.jobs);
	for (int i = 0; i < 400; i++)
		world_put(&w, st);
	while (more)
		assert_int_equal(store_retain_step(st, &keep, w.wall_ns, w.boot_ns, &more, &err),
		                 0);
	assert_in_range(read_sums(dir, "s", 1000, &sums), 2, 4);
	assert_int_equal(ask_int(dir, "SELECT max(rss_mb_max) FROM job_samples"), 100);
	assert_int_equal(ask_int(dir, "SELECT min(processes_min) FROM job_samples"), 1);
	keep.downsampled_ns = 0;
	more = true;
	while (more)
		assert_int_equal(store_retain_step(st, &keep, w.wall_ns, w.boot_ns, &more, &err),
		                 0);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM job_sample"), 0);
	assert_int_equal(read_sums(dir, "s", 1000, &sums), 0);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

struct words {
	char text[2048];
	size_t n;
};

static int add_word(void *self, const struct event_record *e)
{
	struct words *all = self;
	size_t len = strlen(all->text);

	all->n++;
	if (e->name || e->kind == EVENT_LOSS)
		snprintf(all->text + len, sizeof all->text - len, "%s:%s:%s:%s:%u;",
		         event_name(e->kind), e->name ? e->name : "", e->details,
		         e->job_id ? e->job_id : "", e->sheet);
	return 0;
}

static void add_event(struct world *w, enum event_kind kind, int32_t job, uint32_t sheet,
                const char *name, const char *text)
{
	struct event *e = world_push(&w->snap.events);

	e->kind = kind;
	e->wall_ns = w->wall_ns;
	e->job = job;
	e->sheet = sheet;
	e->name = (struct text_ref){ (uint32_t)w->snap.text.len, (uint32_t)strlen(name) };
	buf_puts(&w->snap.text, name);
	e->text = (struct text_ref){ (uint32_t)w->snap.text.len, (uint32_t)strlen(text) };
	buf_puts(&w->snap.text, text);
}

static void test_job_events__are_those_of_its_processes_its_marks_and_its_recorder(void **state)
{
	char *dir = world_dir();
	struct history_cursor at = { 0 };
	struct err err = { 0 };
	struct words words = { "" };
	struct world w;
	struct store *st;
	struct history *r;
	int n, page;

	(void)state;
	world_init(&w, 39);
	world_add_job(&w, "a");
	world_add_job(&w, "b");
	st = world_open(&w, dir);
	w.churn = 20;
	for (int i = 0; i < 40; i++)
		world_put(&w, st);
	world_tick(&w);
	add_event(&w, EVENT_MARK, 0, 3, "here", "{\"x\":1}");
	add_event(&w, EVENT_PHASE, 1, 0, "other", "");
	add_event(&w, EVENT_LOSS, 0, 0, "", "some were lost");
	put_snapshot(&w, st);
	r = open_reader(dir);
	n = history_job_events(r, KEY("a"), &at, 0, 100000, add_word, &words, &err);
	if (n < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(words.text, "mark:here:{\"x\":1}:a:3;loss::some were lost::0;");
	assert_int_equal(
		n,
		2 + ask_int(dir,
	                    "SELECT count(*) FROM event e JOIN process p"
	                    " ON p.id = e.proc JOIN job j ON j.id = p.job WHERE j.job_id = 'a'"));
	at = (struct history_cursor){ 0 };
	words.n = 0;
	while ((page = history_job_events(r, KEY("a"), &at, 0, 7, add_word, &words, &err)) > 0)
		assert_true(page <= 7);
	assert_int_equal(words.n, n);
	at = (struct history_cursor){ 0 };
	words = (struct words){ "" };
	assert_int_equal(
		history_job_events(r, KEY("b"), &at, 1 << EVENT_PHASE, 9, add_word, &words, &err),
		1);
	assert_string_equal(words.text, "phase:other::b:0;");
	assert_int_equal(ask_int(dir,
	                         "SELECT count(*) FROM recorder_events WHERE name = 'here'"
	                         " AND job_id = 'a' AND sheet_num = 3 AND event_type = 'mark'"),
	                 1);
	history_close(r);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

struct identities {
	size_t n, exact;
	uint64_t before_ns, cpu_ns;
};

static int add_process(void *self, const struct process_record *p)
{
	struct identities *all = self;

	assert_true(p->started_ns >= all->before_ns);
	assert_true(p->id.pid > 0 && p->comm[0] && p->command[0]);
	all->before_ns = p->started_ns;
	all->n++;
	all->exact += p->cpu_time_ns.quality == QUALITY_EXACT;
	if (p->cpu_time_ns.quality == QUALITY_EXACT) {
		assert_true(p->ended_ns && p->has_exit_code);
		assert_int_equal(p->peak_rss_bytes.quality, QUALITY_SAMPLED);
	}
	return 0;
}

static void test_reader_job_processes__return_every_life_once_in_order(void **state)
{
	char *dir = world_dir();
	struct identities all = { 0 };
	struct err err = { 0 };
	struct world w;
	struct store *st;
	struct history *r;
	int n;

	(void)state;
	world_init(&w, 40);
	w.churn = 20;
	world_add_job(&w, "a");
	st = world_open(&w, dir);
	for (int i = 0; i < 60; i++)
		world_put(&w, st);
	r = open_reader(dir);
	n = history_job_processes(r, KEY("a"), 100000, add_process, &all, &err);
	if (n < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(
		n,
		ask_int(dir, "SELECT count(DISTINCT pid << 42 | start_ticks)"
	                     " FROM process WHERE job = (SELECT id FROM job WHERE job_id = 'a')"));
	assert_true(all.exact > 5 && all.exact < all.n);
	all = (struct identities){ 0 };
	assert_int_equal(history_job_processes(r, KEY("a"), 3, add_process, &all, &err), 3);
	assert_int_equal(history_job_processes(r, KEY("none"), 3, add_process, &all, &err), 0);
	history_close(r);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

struct starts {
	uint64_t started_ns[4];
	bool is_exact[4];
	size_t n;
};

static int add_start(void *self, const struct process_record *p)
{
	struct starts *all = self;

	assert_true(all->n < 4);
	all->started_ns[all->n] = p->started_ns;
	all->is_exact[all->n++] = p->is_start_exact;
	return 0;
}

#define T_NS (UINT64_C(1790000000) * NS_PER_S)

/* Seen by a tick, which knows the tick of its start. */
static struct proc_snap *see(struct snapshot *snap, pid_t pid, pid_t ppid, uint64_t age_ns)
{
	struct proc_snap *p = world_push(&snap->procs);

	p->s = (struct proc_sample){ .id = { pid, 500 }, .ppid = ppid, .state = 'S', .comm = "x" };
	p->cpu_ratio = NAN;
	p->age_ns = age_ns;
	return p;
}

/* The tick of the first snapshot knows the parent and the child to a tick. The parent's birth was
 * also reported; the child's, and that of another in the next snapshot, was not. */
static void test_job_processes__begin_when_it_was_reported_and_not_before_their_parent(void **state)
{
	char *dir = world_dir();
	uint64_t began_ns = UINT64_C(1790000000) * NS_PER_S, reported_ns = began_ns + 7 * NS_PER_MS;
	struct snapshot snap = { .seq = 1, .wall_ns = began_ns + 50 * NS_PER_MS, .boot_ns = 1 };
	struct starts all = { 0 };
	struct err err = { 0 };
	struct world w;
	struct store *st;
	struct history *r;

	(void)state;
	world_init(&w, 1);
	st = world_open(&w, dir);
	*world_push(&snap.jobs) = (struct job){ .id = "a", .type = "a", .started_ns = began_ns };
	*world_push(&snap.sums) = (struct job_sum){ .procs = 1, .cpu_ratio = NAN };
	see(&snap, 10, 1, 54 * NS_PER_MS);
	*world_push(&snap.events) = (struct event){
		.kind = EVENT_SPAWN, .id = { 10, 500 }, .ppid = 1, .wall_ns = reported_ns, .boot_ns = 1
	};
	if (store_put(st, &snap, &err) < 0)
		fail_msg("%s", err.msg);
	vec_reset(&snap.events);
	snap.seq++;
	snap.boot_ns += NS_PER_S;
	snap.wall_ns += NS_PER_S;
	snap.procs.at[0].age_ns += NS_PER_S;
	see(&snap, 11, 10, 1048 * NS_PER_MS);
	see(&snap, 12, 10, 900 * NS_PER_MS);
	if (store_put(st, &snap, &err) < 0)
		fail_msg("%s", err.msg);
	r = open_reader(dir);
	assert_int_equal(history_job_processes(r, KEY("a"), 9, add_start, &all, &err), 3);
	assert_true(all.is_exact[0] && !all.is_exact[1] && !all.is_exact[2]);
	assert_int_equal(all.started_ns[0] / NS_PER_US, reported_ns / NS_PER_US);
	assert_int_equal(all.started_ns[1] / NS_PER_US, reported_ns / NS_PER_US);
	assert_int_equal(all.started_ns[2] / NS_PER_MS, (began_ns + 150 * NS_PER_MS) / NS_PER_MS);
	history_close(r);
	store_close(st);
	snapshot_done(&snap);
	world_done(&w);
	world_rmdir(dir);
}

static void test_job_processes__stay_when_one_of_them_joins_a_later_job(void **state)
{
	char *dir = world_dir();
	struct snapshot snap = { .seq = 1, .wall_ns = T_NS, .boot_ns = 1 };
	struct starts found = { 0 };
	struct err err = { 0 };
	struct world w;
	struct store *st;
	struct history *r;

	(void)state;
	world_init(&w, 1);
	st = world_open(&w, dir);
	*world_push(&snap.jobs) = (struct job){ .id = "a", .type = "a", .started_ns = T_NS };
	*world_push(&snap.sums) = (struct job_sum){ .procs = 1, .cpu_ratio = NAN };
	readings_set(&see(&snap, 10, 1, NS_PER_S)->s.r, PROC_CPU_TIME, 3 * NS_PER_S);
	for (int i = 0; i < 4; i++) {
		snap.seq++;
		snap.boot_ns += NS_PER_S;
		snap.wall_ns += NS_PER_S;
		if (i == 1)
			set_end(&snap.jobs.at[0], JOB_COMPLETED);
		if (i == 2) { /* a worker that serves both */
			*world_push(&snap.jobs) =
				(struct job){ .id = "b", .type = "b", .started_ns = snap.wall_ns };
			*world_push(&snap.sums) = (struct job_sum){ .procs = 1, .cpu_ratio = NAN };
			snap.procs.at[0].job = 1;
		}
		if (store_put(st, &snap, &err) < 0)
			fail_msg("%s", err.msg);
	}
	r = open_reader(dir);
	assert_int_equal(history_job_processes(r, KEY("a"), 9, add_start, &found, &err), 1);
	assert_int_equal(history_job_processes(r, KEY("b"), 9, add_start, &found, &err), 1);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM process WHERE job = 1"
	                              " AND cpu_time_us = 3000000 AND ended IS NULL"),
	                 1);
	history_close(r);
	store_close(st);
	snapshot_done(&snap);
	world_done(&w);
	world_rmdir(dir);
}

static void test_job_sums__end_within_the_allowed_cpus(void **state)
{
	char *dir = world_dir();
	struct sums sums;
	struct world w;
	struct store *st;
	struct job *job;

	(void)state;
	world_init(&w, 1);
	st = world_open(&w, dir);
	world_add_job(&w, "s");
	job = &w.jobs.at[0];
	job->allowed.cpus = 1;
	put_sum(&w, st,
	        (struct job_sum){ .cpu_ratio = 0.5, .cpu_ns = { NS_PER_S, QUALITY_EXACT } });
	job = &w.jobs.at[0];
	job->figures[JOB_FIGURE_CPU] = (struct figure){ NS_PER_S * 13 / 10, QUALITY_EXACT };
	set_end(job, JOB_COMPLETED);
	job->ended_ns = w.wall_ns + NS_PER_S / 10; /* 0.3 s of CPU time since */
	put_sum(&w, st, (struct job_sum){ 0 });
	assert_int_equal(read_sums(dir, "s", 9, &sums), 2);
	assert_true(fabs(sums.at[1].sum.cpu_ratio - 1) < 1e-9);
	assert_int_equal(ask_int(dir, "SELECT max(cpu_percent) FROM job_samples"), 100);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

static struct job_sum busy(double cpu_ratio, uint64_t cpu_ms)
{
	return (struct job_sum){ .cpu_ratio = cpu_ratio,
		                 .cpu_ns = { cpu_ms * NS_PER_MS, QUALITY_AT_LEAST } };
}

/* 1.6 s of CPU time show in the last 0.1 s: the counter of a plain user's job lags. */
static void test_job_sums__of_a_job_that_ended_add_up_to_its_total(void **state)
{
	const double expected[] = { 0.5, 0.857, 0.857, 0.857 }; /* 1.8 s in 2.1 s */
	char *dir = world_dir();
	struct sums sums;
	struct world w;
	struct store *st;
	struct job *job;

	(void)state;
	world_init(&w, 1);
	st = world_open(&w, dir);
	world_add_job(&w, "s");
	w.jobs.at[0].allowed.cpus = 1;
	put_sum(&w, st, busy(0.5, 500));
	put_sum(&w, st, busy(0.1, 600));
	put_sum(&w, st, busy(0.1, 700));
	job = &w.jobs.at[0];
	job->figures[JOB_FIGURE_CPU] = (struct figure){ 2300 * NS_PER_MS, QUALITY_AT_LEAST };
	set_end(job, JOB_COMPLETED);
	job->ended_ns = w.wall_ns + NS_PER_S / 10;
	put_sum(&w, st, (struct job_sum){ 0 });
	assert_int_equal(read_sums(dir, "s", 9, &sums), 4);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		if (fabs(sums.at[i].sum.cpu_ratio - expected[i]) > 1e-3)
			fail_msg("row %zu: %f", i, sums.at[i].sum.cpu_ratio);
	assert_int_equal(sums.at[0].sum.cpu_ns.value, 500 * NS_PER_MS);
	assert_int_equal(sums.at[1].sum.cpu_ns.value / NS_PER_MS, 1357);
	assert_int_equal(sums.at[2].sum.cpu_ns.value / NS_PER_MS, 2214);
	assert_int_equal(ask_int(dir, "SELECT round(sum(cpu_percent)) FROM job_samples"), 307);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

/* A job of two CPUs that ends a few ms after its third sample; `most` and `last` are of its shares. */
static void end_shortly(uint64_t most_tasks, uint64_t cpu_ms, uint64_t after_ms, double *most,
                        double *last)
{
	char *dir = world_dir();
	struct sums sums;
	struct world w;
	struct store *st;
	struct job *job;

	world_init(&w, 1);
	st = world_open(&w, dir);
	world_add_job(&w, "s");
	w.jobs.at[0].allowed.cpus = 2;
	w.jobs.at[0].most_tasks = most_tasks;
	put_sum(&w, st, busy(0.5, 500));
	put_sum(&w, st, busy(0.99, 1490));
	put_sum(&w, st, busy(0.99, 2480));
	job = &w.jobs.at[0];
	job->figures[JOB_FIGURE_CPU] = (struct figure){ cpu_ms * NS_PER_MS, QUALITY_AT_LEAST };
	set_end(job, JOB_COMPLETED);
	job->ended_ns = w.wall_ns + after_ms * NS_PER_MS;
	put_sum(&w, st, (struct job_sum){ 0 });
	assert_int_equal(read_sums(dir, "s", 9, &sums), 4);
	*most = 0;
	for (size_t i = 0; i < 4; i++)
		*most = fmax(*most, sums.at[i].sum.cpu_ratio);
	*last = sums.at[3].sum.cpu_ratio;
	assert_int_equal(ask_int(dir, "SELECT round(max(cpu_percent)) FROM job_samples"),
	                 lround(*most * 100));
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

static void test_job_sums__of_one_thread_are_within_one_core(void **state)
{
	double most, last;

	(void)state;
	end_shortly(1, 2500, 2, &most, &last); /* 20 ms in the last 2 ms */
	assert_true(most <= 1.001 && last > 0.99);
}

static void test_job_sums__have_no_peak_in_the_last_milliseconds(void **state)
{
	double most, last;

	(void)state;
	end_shortly(8, 2484, 2, &most, &last); /* 4 ms in the last 2 ms: possible on two CPUs */
	assert_true(fabs(most - 0.994 / 1.002) < 0.001 && fabs(last - most) < 0.001);
	end_shortly(8, 2520, 30, &most, &last); /* 40 ms in the last 30 ms */
	assert_true(most <= 1.001 && fabs(last - most) < 0.001);
}

static int add_share(void *self, const struct process_record *p)
{
	double *shares = self;

	shares[p->id.pid - 10] = p->max_cpu_ratio;
	return 0;
}

/* It has used some all the same. */
static void test_job_processes__have_no_cpu_share_when_seen_at_rest_alone(void **state)
{
	char *dir = world_dir();
	struct snapshot snap = { .seq = 1, .wall_ns = T_NS, .boot_ns = 1 };
	double shares[3] = { 9, 9, 9 };
	struct err err = { 0 };
	struct world w;
	struct store *st;
	struct history *r;

	(void)state;
	world_init(&w, 1);
	st = world_open(&w, dir);
	*world_push(&snap.jobs) = (struct job){ .id = "a", .type = "a", .started_ns = T_NS };
	*world_push(&snap.sums) = (struct job_sum){ .procs = 1, .cpu_ratio = NAN };
	see(&snap, 10, 1, NS_PER_S)->cpu_ratio = 0;
	assert_int_equal(MIN(store_put(st, &snap, &err), 0), 0);
	snap.seq++;
	snap.boot_ns += NS_PER_S;
	snap.wall_ns += NS_PER_S;
	see(&snap, 11, 1, NS_PER_S)->cpu_ratio = 0;
	see(&snap, 12, 1, NS_PER_S)->cpu_ratio = 0.5;
	assert_int_equal(MIN(store_put(st, &snap, &err), 0), 0);
	store_close(st);
	r = open_reader(dir);
	assert_int_equal(history_job_processes(r, KEY("a"), 9, add_share, shares, &err), 3);
	assert_true(isnan(shares[0]) && isnan(shares[1]) && shares[2] == 0.5);
	history_close(r);
	snapshot_done(&snap);
	world_done(&w);
	world_rmdir(dir);
}

static void check_version_1(const char *dir)
{
	struct identities all = { 0 };
	struct err err = { 0 };
	struct words words = { "" };
	struct history_cursor at = { 0 };
	struct job job = find_job(dir, "train-1");
	struct sheets sheets = read_sheets(dir, "train-1");
	struct history *r = open_reader(dir);
	struct sums sums;

	assert_int_equal(job.status, JOB_COMPLETED);
	assert_string_equal(job.type, "type");
	assert_true(job.has_exit_code && !job.took_ns && !job.command[0]);
	assert_int_equal(job.figures[JOB_FIGURE_PROCESSES].value, 7);
	assert_int_equal(job.figures[JOB_FIGURE_CPU].value, 14400 * NS_PER_MS);
	assert_int_equal(job.figures[JOB_FIGURE_CPU].quality, QUALITY_AT_LEAST);
	assert_int_equal(job.figures[JOB_FIGURE_READ].quality, QUALITY_MISSING);
	assert_int_equal(sheets.n, 2);
	assert_int_equal(sheets.at[1].s.status, JOB_COMPLETED);
	assert_int_equal(sheets.at[0].use.processes, 3);
	assert_int_equal(history_job_processes(r, KEY("train-1"), 99, add_process, &all, &err), 7);
	assert_int_equal(all.exact, 0);
	assert_true(history_job_events(r, KEY("train-1"), &at, 0, 99, add_word, &words, &err) > 5);
	at = (struct history_cursor){ 0 };
	assert_true(history_events(r, &at, 0, 99, add_word, &words, &err) >= 44);
	assert_int_equal(read_sums(dir, "train-1", 9, &sums), 0);
	assert_int_equal(ask_int(dir, "SELECT cpu_time_us FROM job"), 14400000);
	assert_int_equal(ask_int(dir, "SELECT cpu_seconds = 14.4 AND processes = 7 FROM jobs"), 1);
	history_close(r);
}

static void test_store__reads_version_1_and_brings_it_up_to_date(void **state)
{
	char *dir = world_dir();
	struct world w;
	struct store *st;

	(void)state;
	load_fixture(dir, "v1.sql");
	check_version_1(dir); /* nobody has written to it yet */
	world_init(&w, 50);
	world_add_job(&w, "new");
	st = world_open(&w, dir);
	assert_int_equal(ask_int(dir, "PRAGMA user_version"), SCHEMA_VERSION);
	check_version_1(dir);
	for (int i = 0; i < 3; i++)
		world_put(&w, st);
	store_close(st);
	check_version_1(dir);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM snapshots"), 7 + 3);
	assert_int_equal(ask_int(dir, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
	                 1);
	world_done(&w);
	world_rmdir(dir);
}

RUN_TESTS(TEST(test_job_processes__stay_when_one_of_them_joins_a_later_job),
          TEST(test_job_sums__end_within_the_allowed_cpus),
          TEST(test_job_sums__of_a_job_that_ended_add_up_to_its_total),
          TEST(test_job_sums__of_one_thread_are_within_one_core),
          TEST(test_job_sums__have_no_peak_in_the_last_milliseconds),
          TEST(test_job_processes__have_no_cpu_share_when_seen_at_rest_alone),
          TEST(test_job_processes__begin_when_it_was_reported_and_not_before_their_parent),
          TEST(test_sheets__are_kept_as_they_were_reported),
          TEST(test_job_sums__are_kept_a_snapshot_and_become_means),
          TEST(test_job_events__are_those_of_its_processes_its_marks_and_its_recorder),
          TEST(test_reader_job_processes__return_every_life_once_in_order),
          TEST(test_store__reads_version_1_and_brings_it_up_to_date))
