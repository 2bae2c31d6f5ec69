/* SPDX-License-Identifier: MIT */
/* A real command behind a real launcher; nothing is stored. */
#include "engine/jobhost.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"

struct fixture {
	struct loop *loop;
	struct jobhost *host;
	const struct snapshot *last;
	struct event birth, end; /* of the command */
};

static void on_snapshot(void *self, const struct snapshot *snap)
{
	struct fixture *f = self;

	snapshot_unref(f->last);
	f->last = snapshot_ref(snap);
	vec_each(&snap->events, e) { /* on a busy machine they are not all in the last one */
		if (e->kind == EVENT_SPAWN)
			f->birth = *e;
		else if (e->kind == EVENT_EXIT)
			f->end = *e;
	}
}

static void set_pipeline(void *self, struct engine *engine)
{
	const struct pipeline pipeline = {
		.stages = { { "job figures", ON_BOTH, engine_stage_jobs, engine } },
		.sinks = { { "last", ON_BOTH, on_snapshot, .self = self } },
	};

	engine_set_pipeline(engine, &pipeline);
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	jobhost_free(f->host);
	loop_free(f->loop);
	snapshot_unref(f->last);
	free(f);
	return 0;
}

/* Without event sources: what they report differs from machine to machine. */
static void launch(struct fixture *f, const struct job *job, char *const *argv)
{
	const struct jobhost_options options = {
		.engine = { .sampler = { .no_bpf = true, .no_events = true, .jobs_only = true },
		            .interval_ns = NS_PER_S,
		            .starts_fine = true,
		            .recorder.opens_later = true },
		.job = job,
		.argv = argv,
		.grace_ns = NS_PER_S,
		.set_pipeline = set_pipeline,
		.self = f,
	};
	struct launch_inherited inherited;
	struct launcher *launcher = NULL;
	struct err err;

	launcher_save_inherited(&inherited, SIG_DFL);
	assert_int_equal(loop_new(&f->loop, &err), 0);
	assert_int_equal(launcher_new(f->loop, &inherited, &launcher, &err), 0);
	assert_int_equal(jobhost_new(f->loop, launcher, &options, &f->host, &err), 0);
}

static struct job run(struct fixture *f, const struct job *how, const char *script)
{
	char shell[] = "sh", option[] = "-c", words[100];
	char *argv[] = { shell, option, words, NULL };
	struct engine_totals totals;
	struct err err;

	snprintf(words, sizeof words, "%s", script);
	launch(f, how, argv);
	assert_int_equal(jobhost_start(f->host, &err), 0);
	assert_int_equal(jobhost_run(f->host, &err), 0);
	jobhost_finish(f->host, &totals);
	return f->last->jobs.at[0];
}

static void test_jobhost__reports_how_the_command_ended(void **state)
{
	struct fixture *f = *state;
	struct job how = { .id = "j-1", .type = "sh" };
	struct job job = run(f, &how, "exit 7");

	assert_string_equal(job.id, "j-1");
	assert_int_equal(job.status, JOB_FAILED);
	assert_true(job.has_exit_code);
	assert_int_equal(job.exit_code, 7);
	assert_int_equal(jobhost_end(f->host)->exit_code, 7);
	assert_true(job.took_ns > 0);
	assert_int_equal(job.ended_ns, job.started_ns + job.took_ns);
	assert_int_equal(job.figures[JOB_FIGURE_COMMAND_TOOK].value, job.took_ns);
	assert_int_equal(job.figures[JOB_FIGURE_OUTLIVED].value, 0);
}

static void test_jobhost__reports_the_birth_of_the_command_at_the_start_of_the_job(void **state)
{
	struct fixture *f = *state;
	struct job how = { .id = "j-1", .type = "sh" };
	struct job job = run(f, &how, ":");

	assert_int_equal(f->birth.wall_ns, job.started_ns);
	assert_int_equal(f->birth.ppid, getpid());
	assert_int_equal(f->birth.job, 0);
}

static void test_jobhost__takes_what_the_command_used_from_wait4(void **state)
{
	struct fixture *f = *state;
	struct job how = { .id = "j-1", .type = "sh" };
	struct job job = run(f, &how, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");

	assert_int_equal(job.figures[JOB_FIGURE_PROCESSES].value, 1);
	assert_true(job.figures[JOB_FIGURE_CPU].value > 0);
	assert_true(readings_has(&f->end.final, PROC_CPU_TIME));
	assert_true(readings_has(&f->end.final, PROC_PEAK_RSS));
}

static void test_jobhost__ends_the_whole_job_at_its_time_limit(void **state)
{
	struct fixture *f = *state;
	struct job how = { .id = "j-1", .type = "sh" };
	struct job job;

	how.limit[JOB_LIMIT_TIME] = 100 * NS_PER_MS;
	job = run(f, &how, "sleep 30 & sleep 30; :");
	assert_true(job.limits_hit & 1u << JOB_LIMIT_TIME);
	assert_int_equal(job.status, JOB_FAILED);
	assert_int_equal(job.signal, SIGTERM);
	assert_true(job.took_ns < 20 * NS_PER_S);
	assert_int_equal(job.figures[JOB_FIGURE_LEAKED].value, 0);
}

static void test_jobhost__closes_sheets_that_are_open_at_the_end(void **state)
{
	struct fixture *f = *state;
	struct job how = { .id = "j-1", .type = "sh" };
	char program[] = "true", *argv[] = { program, NULL };
	struct job_input_sheet begun = { .num = 2, .total = 3, .label = "fit" };
	struct engine_totals totals;
	struct job job;
	uint32_t num;
	struct err err;

	launch(f, &how, argv);
	assert_int_equal(jobhost_start(f->host, &err), 0);
	begun.job = jobhost_row(f->host)->job.handle;
	assert_int_equal(job_input_begin_sheet(jobhost_engine(f->host), &begun, &num, &err), 0);
	assert_int_equal(jobhost_run(f->host, &err), 0);
	jobhost_finish(f->host, &totals);
	job = f->last->jobs.at[0];
	assert_int_equal(job.total_sheets, 3);
	assert_int_equal(job.current_sheet, 0);
	assert_int_equal(f->last->sheets.len, 1);
	assert_int_equal(f->last->sheets.at[0].status, JOB_LOST);
	assert_true(f->last->sheets.at[0].ended_ns >= f->last->sheets.at[0].started_ns);
}

static void test_jobhost_fail__ends_a_job_that_had_no_process(void **state)
{
	struct fixture *f = *state;
	struct job how = { .id = "j-1", .type = "x" };
	char program[] = "/nowhere/x", *argv[] = { program, NULL };
	struct engine_totals totals;
	struct job job;
	struct err err;

	launch(f, &how, argv);
	assert_int_equal(jobhost_start(f->host, &err), -ENOENT);
	jobhost_fail(f->host, 127, err.msg);
	jobhost_finish(f->host, &totals);
	job = f->last->jobs.at[0];
	assert_int_equal(job.status, JOB_FAILED);
	assert_int_equal(job.exit_code, 127);
	assert_int_equal(job.figures[JOB_FIGURE_PROCESSES].value, 0);
}

#define HOST_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(HOST_TEST(test_jobhost__reports_how_the_command_ended),
          HOST_TEST(test_jobhost__reports_the_birth_of_the_command_at_the_start_of_the_job),
          HOST_TEST(test_jobhost__takes_what_the_command_used_from_wait4),
          HOST_TEST(test_jobhost__ends_the_whole_job_at_its_time_limit),
          HOST_TEST(test_jobhost__closes_sheets_that_are_open_at_the_end),
          HOST_TEST(test_jobhost_fail__ends_a_job_that_had_no_process))
