/* SPDX-License-Identifier: MIT */
#include "job/jobs.h"

#include <math.h>
#include <stdio.h>

#include "check.h"
#include "model/snapshot_scope.h"
#include "model_kit.h"

#define ROOT ((struct proc_id){ 100, 500 })
#define CHILD ((struct proc_id){ 101, 501 })

struct fixture {
	struct jobs *jobs;
	struct sample prev, cur;
	struct snapshot snap;
};

static struct fixture fixture_new(void)
{
	struct fixture f = { .jobs = jobs_new(NULL),
		             .prev = kit_sample(0),
		             .cur = kit_sample(NS_PER_S) };

	f.jobs->sources = (struct jobs_sources){ .births = true, .totals = true };
	return f;
}

static void fixture_done(struct fixture *f)
{
	jobs_free(f->jobs);
	sample_done(&f->prev);
	sample_done(&f->cur);
	snapshot_done(&f->snap);
}

static struct watched_job *add_job(struct fixture *f, const char *id, struct proc_id root)
{
	struct job job = { .started_ns = WALL0_NS, .root = root };
	struct watched_job *w;

	snprintf(job.id, sizeof job.id, "%s", id);
	w = jobs_add(f->jobs, &job);
	w->accounting.started_boot_ns = T0_NS;
	members_add(&f->jobs->members, &f->jobs->roster, root,
	            (struct job_ref){ .job = w->row->job.handle });
	return w;
}

static struct event *add_event(struct fixture *f, enum event_kind kind, struct proc_id id)
{
	struct event *e = sample_add_event(&f->cur, kind);

	e->id = id;
	e->boot_ns = f->cur.boot_ns;
	return e;
}

/* As the engine does it. */
static void tick(struct fixture *f)
{
	const struct snapshot_origin origin = { .seq = 1, .started_boot_ns = T0_NS, .pid = 77 };

	jobs_focus(f->jobs, &f->cur, &f->cur.request);
	jobs_learn(f->jobs, &f->cur);
	snapshot_build(&f->prev, &f->cur, &f->jobs->roster, &origin, &f->snap);
	jobs_figures(f->jobs, &f->snap);
	jobs_expire(f->jobs);
	sample_reset(&f->cur);
	f->cur.boot_ns = f->snap.boot_ns + NS_PER_S;
	f->cur.wall_ns = f->snap.wall_ns + NS_PER_S;
	f->cur.events_complete = f->cur.procs_complete = true;
}

static uint64_t figure(const struct fixture *f, size_t job, enum job_figure id)
{
	return f->snap.jobs.at[job].figures[id].value;
}

static void test_jobs__count_the_processes_of_each_job_apart(void **state)
{
	struct fixture f = fixture_new();

	add_job(&f, "a", ROOT);
	add_job(&f, "b", (struct proc_id){ 200, 500 });
	add_event(&f, EVENT_SPAWN, CHILD)->ppid = ROOT.pid;
	add_event(&f, EVENT_EXIT, CHILD)->has_exit_code = true;
	tick(&f);
	assert_int_equal(f.snap.jobs.len, 2);
	assert_int_equal(figure(&f, 0, JOB_FIGURE_PROCESSES), 2);
	assert_int_equal(figure(&f, 0, JOB_FIGURE_EXITED), 1);
	assert_int_equal(figure(&f, 1, JOB_FIGURE_PROCESSES), 1);
	assert_int_equal(figure(&f, 1, JOB_FIGURE_EXITED), 0);
	fixture_done(&f);
}

static void test_jobs__focus_on_the_living(void **state)
{
	struct fixture f = fixture_new();
	struct event *end;

	add_job(&f, "a", ROOT);
	add_event(&f, EVENT_SPAWN, CHILD)->ppid = ROOT.pid;
	end = add_event(&f, EVENT_EXIT, ROOT);
	end->has_exit_code = true;
	readings_set(&end->final, PROC_CPU_TIME, 1); /* it was reaped */
	jobs_focus(f.jobs, &f.cur, &f.cur.request);
	assert_int_equal(f.cur.request.focus.len, 1);
	assert_int_equal(f.cur.request.focus.at[0].pid, CHILD.pid);
	fixture_done(&f);
}

static void test_jobs__infer_the_end_of_a_job_from_that_of_its_process(void **state)
{
	struct fixture f = fixture_new();
	struct watched_job *w = add_job(&f, "a", ROOT);
	struct event *end;

	add_event(&f, EVENT_SPAWN, CHILD)->ppid = ROOT.pid;
	end = add_event(&f, EVENT_EXIT, ROOT);
	end->has_exit_code = true;
	end->exit_code = 3;
	tick(&f);
	assert_int_equal(f.snap.jobs.at[0].status, JOB_FAILED);
	assert_int_equal(f.snap.jobs.at[0].exit_code, 3);
	assert_true(f.snap.jobs.at[0].ends_now);
	assert_int_equal(figure(&f, 0, JOB_FIGURE_OUTLIVED), 1);
	assert_true(w->end_is_inferred);
	tick(&f);
	assert_false(f.snap.jobs.at[0].ends_now); /* that was published */
	fixture_done(&f);
}

/* All readers of a snapshot see the same, whatever part of it they may see. */
static void test_jobs__count_those_that_run_after_ends_were_inferred(void **state)
{
	struct fixture f = fixture_new();
	struct watched_job *a = add_job(&f, "a", ROOT);
	struct watched_job *b = add_job(&f, "b", (struct proc_id){ 200, 500 });
	struct snapshot_counts all, ours;

	job_roster_begin_sheet(&f.jobs->roster, a->row, 1, "", WALL0_NS);
	job_roster_begin_sheet(&f.jobs->roster, b->row, 1, "", WALL0_NS);
	job_roster_begin_sheet(&f.jobs->roster, b->row, 2, "", WALL0_NS);
	add_event(&f, EVENT_EXIT, ROOT)->has_exit_code = true;
	tick(&f);
	assert_int_equal(f.snap.jobs.at[0].status, JOB_COMPLETED);
	all = snapshot_scope_count(NULL, &f.snap);
	assert_int_equal(all.running_jobs, 1);
	assert_int_equal(all.active_sheets, 2);
	ours = snapshot_scope_count(&snapshot_scope_ours, &f.snap);
	assert_int_equal(ours.running_jobs, 1);
	assert_int_equal(ours.active_sheets, 2);
	b->row->job.is_stored_by_other = true;
	tick(&f);
	assert_int_equal(snapshot_scope_count(NULL, &f.snap).active_sheets, 2);
	ours = snapshot_scope_count(&snapshot_scope_ours, &f.snap);
	assert_int_equal(ours.running_jobs, 0);
	assert_int_equal(ours.active_sheets, 0);
	fixture_done(&f);
}

static void test_jobs__leave_the_end_of_another_recorders_job_to_it(void **state)
{
	struct fixture f = fixture_new();
	struct watched_job *w = add_job(&f, "a", ROOT);

	w->row->job.has_recorder = w->row->job.is_stored_by_other = true;
	add_event(&f, EVENT_EXIT, ROOT)->has_exit_code = true;
	tick(&f);
	assert_int_equal(f.snap.jobs.at[0].status, JOB_RUNNING);
	assert_int_equal(figure(&f, 0, JOB_FIGURE_PROCESSES), 1); /* shown, never stored */
	fixture_done(&f);
}

/* The readings of a control group. */
static const struct cgroup_readings *read_group(void *self, const struct snapshot *snap)
{
	(void)snap;
	return self;
}

static double share_after(struct fixture *f, struct cgroup_readings *group, uint64_t cpu_ms)
{
	readings_set(group, CGROUP_CPU, cpu_ms * NS_PER_MS);
	tick(f);
	return f->snap.sums.at[0].cpu_ratio;
}

static void test_jobs__show_no_more_cpus_than_are_allowed_and_lose_no_cpu_time(void **state)
{
	static const struct watched_job_hooks hooks = { .measure = read_group };
	struct cgroup_readings group = { 0 };
	struct fixture f = fixture_new();
	struct watched_job *w = add_job(&f, "a", ROOT);

	w->hooks = &hooks;
	w->hooks_self = &group;
	w->row->job.allowed.cpus = 1;
	w->row->job.allowed.milli_cores = 500;
	assert_true(fabs(share_after(&f, &group, 700) - 0.7) < 1e-6); /* its quota is of a period */
	assert_true(fabs(share_after(&f, &group, 1780) - 1) < 1e-6);  /* the clock lags … */
	assert_true(fabs(share_after(&f, &group, 1980) - 0.28) < 1e-6); /* … by 80 ms */
	assert_true(fabs(share_after(&f, &group, 1980)) < 1e-6);
	assert_true(share_after(&f, &group, 4980) > 0.999); /* it has been allowed more since */
	fixture_done(&f);
}

static void test_jobs__show_no_more_cores_than_threads_unless_there_are_more(void **state)
{
	static const struct watched_job_hooks hooks = { .measure = read_group };
	struct cgroup_readings group = { 0 };
	struct fixture f = fixture_new();
	struct watched_job *w = add_job(&f, "a", ROOT);

	w->hooks = &hooks;
	w->hooks_self = &group;
	w->row->job.allowed.cpus = 4;
	assert_true(fabs(share_after(&f, &group, 1020) - 1) < 1e-6); /* of one thread */
	assert_int_equal(f.snap.jobs.at[0].most_tasks, 1);
	assert_true(fabs(share_after(&f, &group, 2000) - 1) < 1e-6); /* nothing is lost */
	assert_true(fabs(share_after(&f, &group, 5000) - 3) <
	            1e-6); /* of threads that no tick saw */
	tick(&f);
	assert_int_equal(f.snap.jobs.at[0].most_tasks, 0);
	fixture_done(&f);
}

static void test_jobs__have_no_peak_in_a_tick_of_milliseconds(void **state)
{
	static const struct watched_job_hooks hooks = { .measure = read_group };
	struct cgroup_readings group = { 0 };
	struct fixture f = fixture_new();
	struct watched_job *w = add_job(&f, "a", ROOT);

	w->hooks = &hooks;
	w->hooks_self = &group;
	w->row->job.allowed.cpus = 2;
	assert_true(fabs(share_after(&f, &group, 500) - 0.5) < 1e-6);
	f.cur.boot_ns += 7 * NS_PER_MS - NS_PER_S;
	assert_true(fabs(share_after(&f, &group, 510) - 0.5) < 1e-6); /* of 10 ms in 7 */
	assert_true(fabs(share_after(&f, &group, 1010) - 0.5065) < 1e-6);
	fixture_done(&f);
}

static void test_jobs__put_each_change_of_a_sheet_into_one_snapshot(void **state)
{
	struct fixture f = fixture_new();
	struct watched_job *w = add_job(&f, "a", ROOT);

	job_roster_begin_sheet(&f.jobs->roster, w->row, 1, "x", WALL0_NS);
	tick(&f);
	assert_int_equal(f.snap.sheets.len, 1);
	assert_int_equal(f.snap.sheets.at[0].job, 0);
	assert_int_equal(f.snap.active_sheets, 1);
	tick(&f);
	assert_int_equal(f.snap.sheets.len, 0);
	assert_int_equal(f.snap.active_sheets, 1);
	watched_job_end(w, &(struct job_end){ .status = JOB_COMPLETED, .has_exit_code = true });
	tick(&f);
	assert_int_equal(f.snap.sheets.len, 1);
	assert_int_equal(f.snap.sheets.at[0].status, JOB_LOST);
	assert_true(f.snap.sheets.at[0].ends_now);
	tick(&f);
	assert_int_equal(f.snap.sheets.len, 0);
	fixture_done(&f);
}

static void test_jobs__fail_a_sheet_whose_opener_died_only_where_that_is_the_rule(void **state)
{
	struct fixture f = fixture_new();
	struct watched_job *w = add_job(&f, "a", ROOT);

	add_event(&f, EVENT_SPAWN, CHILD)->ppid = ROOT.pid;
	job_roster_begin_sheet(&f.jobs->roster, w->row, 1, "", WALL0_NS)->pid = CHILD.pid;
	tick(&f);
	add_event(&f, EVENT_EXIT, CHILD)->signal = 9;
	tick(&f);
	assert_int_equal(w->row->sheets.at[0].status, JOB_RUNNING);

	w->sheets_end_with_opener = true;
	add_event(&f, EVENT_SPAWN, (struct proc_id){ 102, 502 })->ppid = ROOT.pid;
	w->row->sheets.at[0].pid = 102;
	add_event(&f, EVENT_EXIT, (struct proc_id){ 102, 502 })->signal = 11;
	tick(&f);
	assert_int_equal(f.snap.sheets.len, 1);
	assert_int_equal(f.snap.sheets.at[0].status, JOB_FAILED);
	assert_int_equal(f.snap.sheets.at[0].signal, 11);
	fixture_done(&f);
}

static void test_jobs_remove__leaves_the_other_jobs_alone(void **state)
{
	struct fixture f = fixture_new();
	job_handle a = add_job(&f, "a", ROOT)->row->job.handle;
	struct watched_job *b = add_job(&f, "b", (struct proc_id){ 200, 500 });
	job_handle handle = b->row->job.handle;
	const struct event mark = { .kind = EVENT_MARK, .job = handle, .boot_ns = f.cur.boot_ns };

	*sample_add_event(&f.cur, EVENT_MARK) = mark;
	jobs_remove(f.jobs, a);
	assert_null(jobs_get(f.jobs, a));
	assert_ptr_equal(jobs_get(f.jobs, handle), b);
	assert_int_equal(jobs_find_process(f.jobs, ROOT.pid), -1);
	assert_int_equal(jobs_find_process(f.jobs, 200), handle);
	tick(&f);
	assert_int_equal(f.snap.jobs.len, 1);
	assert_int_equal(f.snap.events.len, 1);
	assert_int_equal(f.snap.events.at[0].job, 0); /* where b is in this snapshot */
	fixture_done(&f);
}

static void test_jobs__lose_no_event_that_is_about_a_job_that_is_gone(void **state)
{
	struct fixture f = fixture_new();
	job_handle a = add_job(&f, "a", ROOT)->row->job.handle;
	const struct event mark = { .kind = EVENT_MARK, .job = a, .boot_ns = f.cur.boot_ns };

	*sample_add_event(&f.cur, EVENT_MARK) = mark;
	jobs_remove(f.jobs, a);
	add_job(&f, "b", (struct proc_id){ 200, 500 });
	tick(&f);
	assert_int_equal(f.snap.events.at[0].job, -1);
	fixture_done(&f);
}

static void test_jobs__forget_a_job_a_minute_after_its_end_was_published(void **state)
{
	struct fixture f = fixture_new();
	struct watched_job *w = add_job(&f, "a", ROOT);

	watched_job_end(w, &(struct job_end){ .status = JOB_COMPLETED, .has_exit_code = true });
	w->ended_mono_ns -= 61 * NS_PER_S;
	jobs_expire(f.jobs);
	assert_int_equal(f.jobs->roster.rows.len, 1); /* nobody was shown its end */
	tick(&f);
	assert_int_equal(f.snap.jobs.len, 1);
	assert_int_equal(f.jobs->roster.rows.len, 0);
	fixture_done(&f);
}

static void test_watched_job_end__may_be_corrected_but_keeps_its_time(void **state)
{
	struct fixture f = fixture_new();
	struct watched_job *w = add_job(&f, "a", ROOT);

	watched_job_end(w, &(struct job_end){ .status = JOB_LOST, .ended_ns = WALL0_NS + 5 });
	watched_job_end(w, &(struct job_end){ .status = JOB_COMPLETED,
	                                      .has_exit_code = true,
	                                      .ended_ns = WALL0_NS + 9 });
	assert_int_equal(w->row->job.status, JOB_COMPLETED);
	assert_int_equal(w->row->job.took_ns, 5);
	watched_job_end(w, &(struct job_end){ .status = JOB_FAILED, .ended_ns = WALL0_NS - 9 });
	assert_int_equal(w->row->job.ended_ns, WALL0_NS + 5);
	fixture_done(&f);
}

RUN_TESTS(TEST(test_jobs__show_no_more_cpus_than_are_allowed_and_lose_no_cpu_time),
          TEST(test_jobs__show_no_more_cores_than_threads_unless_there_are_more),
          TEST(test_jobs__have_no_peak_in_a_tick_of_milliseconds),
          TEST(test_jobs__count_the_processes_of_each_job_apart),
          TEST(test_jobs__focus_on_the_living),
          TEST(test_jobs__infer_the_end_of_a_job_from_that_of_its_process),
          TEST(test_jobs__count_those_that_run_after_ends_were_inferred),
          TEST(test_jobs__leave_the_end_of_another_recorders_job_to_it),
          TEST(test_jobs__put_each_change_of_a_sheet_into_one_snapshot),
          TEST(test_jobs__fail_a_sheet_whose_opener_died_only_where_that_is_the_rule),
          TEST(test_jobs_remove__leaves_the_other_jobs_alone),
          TEST(test_jobs__lose_no_event_that_is_about_a_job_that_is_gone),
          TEST(test_jobs__forget_a_job_a_minute_after_its_end_was_published),
          TEST(test_watched_job_end__may_be_corrected_but_keeps_its_time))
