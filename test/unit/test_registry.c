/* SPDX-License-Identifier: MIT */
/* The registry with a real engine, real children, and a store in a directory of its own. */
#include "engine/registry.h"
#include "engine/job_input.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "check.h"
#include "fake_machine.h"
#include "sqlite/db_lock.h"

/* By how much the system's clock was set. */
static time_t clock_step_s;

/* In place of libc's: no test may set the clock of the machine. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, id, ret);

	if (id == CLOCK_REALTIME)
		ret->tv_sec += clock_step_s;
	return r;
}

struct fixture {
	struct tree tree;
	char *db_path;
	struct loop *loop;
	struct engine *engine;
	const struct snapshot *last; /* of a tick or a flush */
	pid_t child;
};

static void keep(void *self, const struct snapshot *snap)
{
	struct fixture *fx = self;

	snapshot_unref(fx->last);
	fx->last = snapshot_ref(snap);
}

static void set_pipeline(struct fixture *fx)
{
	const struct pipeline pipeline = {
		.stages = { { "job figures", ON_BOTH, engine_stage_jobs, fx->engine } },
		.sinks = { { "last", ON_BOTH, keep, .self = fx },
		           engine_sink_recorder(fx->engine) },
	};

	engine_set_pipeline(fx->engine, &pipeline);
}

static pid_t spawn(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

static int setup(void **state)
{
	struct fixture *fx = calloc(1, sizeof *fx);
	struct engine_options options = { .sampler = { .no_bpf = true, .no_events = true },
		                          .interval_ns = 3600 * NS_PER_S };
	struct err err;

	if (!fx)
		return -1;
	*state = fx;
	fx->tree = tree_new();
	fx->child = spawn();
	fx->db_path = xasprintf("%s/proctor.db", fx->tree.path);
	options.recorder.store.path = fx->db_path;
	if (loop_new(&fx->loop, &err) < 0 || engine_new(fx->loop, &options, &fx->engine, &err) < 0)
		return -1;
	set_pipeline(fx);
	registry_begin(fx->engine);
	return 0;
}

static void end_child(struct fixture *fx)
{
	if (fx->child <= 0)
		return;
	kill(fx->child, SIGKILL);
	waitpid(fx->child, NULL, 0);
	fx->child = 0;
}

static int teardown(void **state)
{
	struct fixture *fx = *state;
	struct engine_totals totals;

	end_child(fx);
	engine_stop(fx->engine, &totals);
	snapshot_unref(fx->last);
	loop_free(fx->loop);
	tree_remove(&fx->tree);
	free(fx->db_path);
	free(fx);
	return 0;
}

static struct job named(const char *id)
{
	struct job job = { .type = "t", .uid = 7 };

	snprintf(job.id, sizeof job.id, "%s", id);
	return job;
}

static job_handle start_job(struct fixture *fx, const struct job *job)
{
	job_handle handle = -1;
	struct err err;

	assert_int_equal(registry_start(fx->engine, job, fx->child, &handle, &err), 0);
	return handle;
}

static job_handle start(struct fixture *fx, const char *id)
{
	struct job job = named(id);

	return start_job(fx, &job);
}

static int try_to_start(struct fixture *fx, const struct job *job, pid_t pid, struct err *err)
{
	job_handle handle;

	return registry_start(fx->engine, job, pid, &handle, err);
}

static const struct job_roster *table(const struct fixture *fx)
{
	return &engine_jobs(fx->engine)->roster;
}

static const struct job_end good = { .status = JOB_COMPLETED, .has_exit_code = true };

static const struct proc_snap *child_of(const struct fixture *fx)
{
	return snapshot_find(fx->last, fx->child);
}

static void test_registry_start__makes_the_process_a_member(void **state)
{
	struct fixture *fx = *state;

	start(fx, "a");
	engine_tick(fx->engine);
	assert_int_equal(fx->last->jobs.len, 1);
	assert_int_equal(child_of(fx)->job, 0);
	assert_int_equal(fx->last->running_jobs, 1);
	assert_true(fx->last->jobs.at[0].started_ns > 0);
	assert_int_equal(fx->last->jobs.at[0].figures[JOB_FIGURE_PROCESSES].value, 1);
}

static void test_registry_start__refuses_running_jobs_and_missing_processes(void **state)
{
	struct fixture *fx = *state;
	struct job job = named("a");
	struct err err;

	start(fx, "a");
	assert_int_equal(try_to_start(fx, &job, fx->child, &err), -EALREADY);
	job = named("b");
	assert_int_equal(try_to_start(fx, &job, 0x7fffffff, &err), -ENOENT);
	assert_int_equal(try_to_start(fx, &job, fx->child, &err), -EALREADY);
	assert_non_null(strstr(err.msg, "already belongs to job 'a'"));
	assert_int_equal(table(fx)->rows.len, 1);
}

static void test_registry_start__refuses_a_process_that_was_not_checked(void **state)
{
	struct fixture *fx = *state;
	struct job job = named("a");
	struct err err;

	job.root = (struct proc_id){ fx->child, 1 };
	assert_int_equal(try_to_start(fx, &job, fx->child, &err), -ENOENT);
	job.root.start_ticks = 0;
	assert_int_equal(try_to_start(fx, &job, fx->child, &err), 0);
}

static void test_registry_start__leaves_room_for_other_users(void **state)
{
	struct fixture *fx = *state;
	char id[16];
	struct job job;
	struct err err;

	for (int i = 0; i < REGISTRY_JOBS_PER_UID_MAX; i++) { /* those that ended are still shown */
		snprintf(id, sizeof id, "j%d", i);
		assert_int_equal(registry_end(fx->engine, start(fx, id), &good, &err), 0);
	}
	job = named("one-too-many");
	assert_int_equal(try_to_start(fx, &job, fx->child, &err), -ENOSPC);
	job.uid = 8;
	assert_int_equal(registry_end(fx->engine, start_job(fx, &job), &good, &err), 0);
	job = named("roots");
	job.uid = 0;
	start_job(fx, &job);
}

static void test_registry_end__is_final_unless_it_was_inferred(void **state)
{
	struct fixture *fx = *state;
	struct err err;
	job_handle job = start(fx, "a");

	assert_int_equal(registry_end(fx->engine, job, &good, &err), 0);
	assert_int_equal(registry_end(fx->engine, job, &good, &err), -EALREADY);
	job = start(fx, "b");
	engine_tick(fx->engine);
	end_child(fx);
	engine_tick(fx->engine);
	assert_int_equal(fx->last->jobs.at[1].status, JOB_LOST); /* nobody reported how it ended */
	assert_int_equal(registry_end(fx->engine, job, &good, &err), 0);
	assert_int_equal(job_roster_get(table(fx), job)->job.status, JOB_COMPLETED);
	assert_int_equal(registry_end(fx->engine, job, &good, &err), -EALREADY);
}

static void test_registry_end__closes_the_sheets_that_are_open(void **state)
{
	struct fixture *fx = *state;
	struct job_input_sheet begun = { .label = "x", .opener.pid = fx->child };
	const struct job_end bad = { .status = JOB_FAILED, .signal = 9 };
	uint32_t num = 0;
	struct err err;

	begun.job = start(fx, "a");
	assert_int_equal(job_input_begin_sheet(fx->engine, &begun, &num, &err), 0);
	assert_int_equal(num, 1);
	engine_tick(fx->engine);
	assert_int_equal(child_of(fx)->sheet, 1);
	assert_int_equal(registry_end(fx->engine, begun.job, &bad, &err), 0);
	engine_tick(fx->engine);
	assert_int_equal(fx->last->sheets.at[0].status, JOB_FAILED);
	assert_int_equal(fx->last->active_sheets, 0);
	assert_int_equal(job_input_begin_sheet(fx->engine, &begun, &num, &err), -EALREADY);
}

static void test_registry_end__measures_by_a_clock_that_no_one_sets(void **state)
{
	struct fixture *fx = *state;
	struct job_input_sheet begun = { .label = "x", .opener.pid = fx->child };
	const struct job_end early = { .status = JOB_COMPLETED, .ended_ns = 1 };
	uint64_t before_ns = clock_wall_ns();
	const struct job *job;
	uint32_t num = 0;
	struct err err;

	begun.job = start(fx, "a");
	assert_int_equal(job_input_begin_sheet(fx->engine, &begun, &num, &err), 0);
	engine_tick(fx->engine);
	clock_step_s = -30 * 86400;
	engine_tick(fx->engine);
	assert_in_range(fx->last->wall_ns, before_ns, before_ns + 60 * NS_PER_S);
	assert_int_equal(job_input_end_sheet(fx->engine, begun.job, num, &early, NULL, &err), 0);
	assert_int_equal(registry_end(fx->engine, begun.job, &good, &err), 0);
	engine_tick(fx->engine);
	job = &fx->last->jobs.at[0];
	assert_in_range(job->started_ns, before_ns, before_ns + 60 * NS_PER_S);
	assert_in_range(job->took_ns, 1, 60 * NS_PER_S);
	assert_in_range(fx->last->sheets.at[0].ended_ns - fx->last->sheets.at[0].started_ns, 0,
	                60 * NS_PER_S);
	/* Without a job the set clock is followed. */
	engine_tick(fx->engine);
	assert_true(fx->last->wall_ns < before_ns);
	clock_step_s = 0;
}

static void test_registry_lose__gives_its_place_to_the_recorder_that_is_back(void **state)
{
	struct fixture *fx = *state;
	struct job job = named("a");
	job_handle lost, back;

	job.has_recorder = job.is_stored_by_other = true;
	lost = start_job(fx, &job);
	registry_lose(fx->engine, lost);
	assert_int_equal(job_roster_get(table(fx), lost)->job.status, JOB_LOST);
	back = start_job(fx, &job);
	assert_null(job_roster_get(table(fx), lost));
	assert_int_equal(table(fx)->rows.len, 1);
	assert_int_equal(job_roster_get(table(fx), back)->job.status, JOB_RUNNING);
	engine_tick(fx->engine);
	assert_int_equal(child_of(fx)->job, 0);
}

static void test_jobs_remove__leaves_nothing_behind(void **state)
{
	struct fixture *fx = *state;
	struct engine_tuning tuning = { .interval_ns = 3600 * NS_PER_S };
	job_handle job = start(fx, "a");

	engine_tick(fx->engine);
	engine_tune(fx->engine, &tuning);
	(void)engine_store_jobs(fx->engine);
	jobs_remove(engine_jobs(fx->engine), job);
	assert_int_equal(jobs_find_process(engine_jobs(fx->engine), fx->child), -1);
	engine_tick(fx->engine);
	assert_int_equal(child_of(fx)->job, -1);
	assert_int_equal(fx->last->jobs.len, 0);
}

static void test_jobs_figures__keeps_jobs_apart(void **state)
{
	struct fixture *fx = *state;
	pid_t children[] = { fx->child, spawn(), spawn() };
	char ids[][2] = { "a", "b", "c" };

	for (int i = 0; i < 3; i++) {
		fx->child = children[i];
		start(fx, ids[i]);
	}
	engine_tick(fx->engine);
	for (int i = 0; i < 3; i++) {
		const struct job *job = &fx->last->jobs.at[i];

		assert_string_equal(job->id, ids[i]);
		assert_int_equal(job->figures[JOB_FIGURE_PROCESSES].value, 1);
		assert_int_equal(job->largest_pid, children[i]);
		assert_true(job->figures[JOB_FIGURE_PEAK_USED].value > 0);
		fx->child = children[i];
		end_child(fx);
	}
	engine_tick(fx->engine);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fx->last->jobs.at[i].status, JOB_LOST);
		assert_int_equal(fx->last->jobs.at[i].figures[JOB_FIGURE_EXITED].value, 1);
	}
}

static enum stored store_jobs(struct fixture *fx)
{
	return engine_await_stored(fx->engine, engine_store_jobs(fx->engine), false, 30 * NS_PER_S);
}

/* A sheet is shown once, when it begins or ends. */
static void test_engine__shows_sheets_again_after_snapshots_were_lost(void **state)
{
	struct fixture *fx = *state;
	job_handle job = start(fx, "a");
	struct job_row *row = job_roster_get(table(fx), job);
	cleanup(freep) char *lock_path = xasprintf("%s/write.lock", fx->tree.path);
	struct db_lock lock = { .fd = -1 };
	struct sheet *sheet;
	struct err err;

	assert_int_equal(store_jobs(fx), STORED_YES);
	assert_int_equal(db_lock_open(&lock, lock_path, &err), 0);
	assert_int_equal(db_lock_take(&lock, DB_LOCK_WRITING, NS_PER_S), 0);
	sheet = job_roster_begin_sheet(&engine_jobs(fx->engine)->roster, row, 1, "",
	                               clock_wall_ns());
	job_row_end_sheet(row, sheet, JOB_COMPLETED, clock_wall_ns());
	assert_int_equal(store_jobs(fx), STORED_NO);
	assert_int_equal(fx->last->sheets.len, 1);
	db_lock_close(&lock);
	assert_int_equal(store_jobs(fx), STORED_YES);
	assert_int_equal(fx->last->sheets.len, 0);
	engine_tick(fx->engine);
	assert_int_equal(fx->last->sheets.len, 1);
	assert_int_equal(fx->last->sheets.at[0].status, JOB_COMPLETED);
	assert_int_equal(store_jobs(fx), STORED_YES);
	assert_int_equal(fx->last->sheets.len, 0);
}

static void test_registry_end__shows_all_sheets_of_the_job(void **state)
{
	struct fixture *fx = *state;
	job_handle job = start(fx, "a");
	struct job_row *row = job_roster_get(table(fx), job);
	const struct job_end how = { .status = JOB_COMPLETED };
	struct sheet *sheet = job_roster_begin_sheet(&engine_jobs(fx->engine)->roster, row, 1, "",
	                                             clock_wall_ns());
	struct err err;

	job_row_end_sheet(row, sheet, JOB_COMPLETED, clock_wall_ns());
	engine_tick(fx->engine);
	assert_int_equal(fx->last->sheets.len, 1);
	engine_tick(fx->engine);
	assert_int_equal(fx->last->sheets.len, 0);
	assert_int_equal(registry_end(fx->engine, job, &how, &err), 0);
	engine_tick(fx->engine);
	assert_int_equal(fx->last->sheets.len, 1);
}

static bool is_news(struct fixture *fx)
{
	engine_tick(fx->engine);
	return fx->last->jobs.at[0].ends_now;
}

static void test_registry__an_end_is_news_once_and_so_is_its_correction(void **state)
{
	struct fixture *fx = *state;
	job_handle job = start(fx, "a");
	const struct job_end how = { .status = JOB_COMPLETED };
	struct err err;

	assert_false(is_news(fx));
	registry_lose(fx->engine, job);
	engine_flush(fx->engine); /* no event waits for it */
	assert_true(fx->last->jobs.at[0].ends_now);
	assert_int_equal(fx->last->jobs.at[0].status, JOB_LOST);
	assert_false(is_news(fx));
	job_roster_get(table(fx), job)->watched->end_is_inferred = true;
	assert_int_equal(registry_end(fx->engine, job, &how, &err), 0);
	assert_true(is_news(fx));
	assert_false(is_news(fx));
}

#define MANY 500

static void start_many(struct fixture *fx, struct snapshot *snap)
{
	struct err err;

	for (int i = 0; i < MANY; i++) {
		job_handle job;
		char id[16];

		snprintf(id, sizeof id, "j%d", i);
		job = start(fx, id);
		assert_int_equal(registry_end(fx->engine, job, &good, &err), 0);
		((struct job *)vec_push(&snap->jobs, JOBS_MAX))->handle = job;
		(void)vec_push(&snap->sums, JOBS_MAX);
	}
}

/* One for each job; made up, for they only have to be counted. */
static void add_processes(struct fixture *fx, struct snapshot *snap)
{
	struct jobs *jobs = engine_jobs(fx->engine);

	for (int i = 0; i < MANY; i++) {
		struct proc_snap *p = vec_push(&snap->procs, PROCS_MAX);

		p->s.id = (struct proc_id){ 1 << 23 | i, 5 };
		p->job = i;
		members_add(&jobs->members, &jobs->roster, p->s.id,
		            (struct job_ref){ .job = snap->jobs.at[i].handle });
	}
}

static uint64_t time_figures(struct fixture *fx, struct snapshot *snap)
{
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t begin_ns = clock_thread_cpu_ns();

		jobs_figures(engine_jobs(fx->engine), snap);
		least_ns = MIN(least_ns, clock_thread_cpu_ns() - begin_ns);
	}
	return least_ns;
}

static void test_jobs_figures__goes_through_the_processes_once_for_all_jobs(void **state)
{
	struct fixture *fx = *state;
	struct snapshot snap = { 0 };
	uint64_t without_ns, with_ns;

	start_many(fx, &snap);
	without_ns = time_figures(fx, &snap);
	add_processes(fx, &snap);
	with_ns = time_figures(fx, &snap);
	if (with_ns > 5 * without_ns)
		fail_msg("%llu us without processes, %llu us with %d",
		         (unsigned long long)without_ns / 1000, (unsigned long long)with_ns / 1000,
		         MANY);
	assert_int_equal(snap.jobs.at[0].figures[JOB_FIGURE_PROCESSES].value, 2); /* with its first */
	snapshot_done(&snap);
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(REGISTRY_TEST(test_registry_start__makes_the_process_a_member),
          REGISTRY_TEST(test_registry_start__refuses_running_jobs_and_missing_processes),
          REGISTRY_TEST(test_registry_start__refuses_a_process_that_was_not_checked),
          REGISTRY_TEST(test_registry_start__leaves_room_for_other_users),
          REGISTRY_TEST(test_registry_end__is_final_unless_it_was_inferred),
          REGISTRY_TEST(test_registry_end__closes_the_sheets_that_are_open),
          REGISTRY_TEST(test_registry_end__measures_by_a_clock_that_no_one_sets),
          REGISTRY_TEST(test_registry_lose__gives_its_place_to_the_recorder_that_is_back),
          REGISTRY_TEST(test_engine__shows_sheets_again_after_snapshots_were_lost),
          REGISTRY_TEST(test_registry_end__shows_all_sheets_of_the_job),
          REGISTRY_TEST(test_registry__an_end_is_news_once_and_so_is_its_correction),
          REGISTRY_TEST(test_jobs_figures__keeps_jobs_apart),
          REGISTRY_TEST(test_jobs_figures__goes_through_the_processes_once_for_all_jobs),
          REGISTRY_TEST(test_jobs_remove__leaves_nothing_behind))
