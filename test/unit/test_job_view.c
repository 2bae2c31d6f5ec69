/* SPDX-License-Identifier: MIT */
#include "view/job_view.h"

#include <math.h>
#include <signal.h>

#include "base/signal_name.h"
#include "check.h"
#include "model_kit.h"

static void test_job_view_result__shows_how_it_ended(void **state)
{
	struct job job = { .status = JOB_COMPLETED, .has_exit_code = true };

	assert_string_equal(job_view_result(&job).at, "ok");
	job.status = JOB_RUNNING;
	assert_string_equal(job_view_result(&job).at, "running");
	job.status = JOB_LOST;
	assert_string_equal(job_view_result(&job).at, "end not recorded");
	job.parent_limits_hit = 1u << JOB_LIMIT_TIME;
	assert_string_equal(job_view_result(&job).at, "killed with its parent job (time limit)");
	job.parent_limits_hit = 1u << JOB_LIMIT_MEM;
	assert_string_equal(job_view_result(&job).at, "killed with its parent job (memory limit)");
	job.status = JOB_FAILED;
	job.exit_code = 3;
	assert_string_equal(job_view_result(&job).at, "exit 3");
	job.has_exit_code = false;
	assert_string_equal(job_view_result(&job).at, "failed");
	job.signal = SIGSEGV;
	job.core_dumped = true;
	assert_string_equal(job_view_result(&job).at, "SIGSEGV, core dumped");
}

static void test_job_view_result__explains_why_a_command_never_ran(void **state)
{
	struct job job = { .status = JOB_FAILED, .has_exit_code = true, .exit_code = 127 };

	(void)state;
	assert_string_equal(job_view_result(&job).at, "exit 127"); /* nobody counted */
	job.figures[JOB_FIGURE_PROCESSES] = (struct figure){ 1, QUALITY_EXACT };
	assert_string_equal(job_view_result(&job).at, "exit 127"); /* of a shell, for example */
	job.figures[JOB_FIGURE_PROCESSES].value = 0;
	assert_string_equal(job_view_result(&job).at, "command not found");
	job.exit_code = 126;
	assert_string_equal(job_view_result(&job).at, "cannot be run");
}

static void test_job_view_result__names_which_limit_it_met(void **state)
{
	struct job job = { .status = JOB_FAILED, .signal = SIGTERM };

	job.limit[JOB_LIMIT_TIME] = 90 * NS_PER_S;
	assert_string_equal(job_view_result(&job).at, "SIGTERM");
	job.limits_hit = 1u << JOB_LIMIT_TIME;
	assert_string_equal(job_view_result(&job).at, "time limit of 1m 30s");
	job = (struct job){ .status = JOB_FAILED, .has_exit_code = true, .exit_code = 1 };
	job.limit[JOB_LIMIT_PIDS] = 1;
	job.limits_hit = 1u << JOB_LIMIT_PIDS;
	assert_string_equal(job_view_result(&job).at, "exit 1, met its limit of 1 task");
}

static void test_job_view_result__names_the_sender_of_a_signal(void **state)
{
	struct job job = { .status = JOB_FAILED, .signal = SIGTERM };

	(void)state;
	job.cause = (struct cause){ .sender = CAUSE_SENDER_PROCESS,
		                    .sender_pid = 16703,
		                    .sender_comm = "timeout" };
	assert_string_equal(job_view_result(&job).at, "SIGTERM from timeout (pid 16703)");
	job.cause.sender_comm[0] = '\0';
	assert_string_equal(job_view_result(&job).at, "SIGTERM from a process (pid 16703)");
	job.cause = (struct cause){ .sender = CAUSE_SENDER_TERMINAL };
	job.signal = SIGINT;
	assert_string_equal(job_view_result(&job).at, "SIGINT (Ctrl-C)");
	job.signal = SIGQUIT;
	job.core_dumped = true;
	assert_string_equal(job_view_result(&job).at, "SIGQUIT (Ctrl-\\), core dumped");
	job.cause.sender = CAUSE_SENDER_ITSELF;
	job.signal = SIGABRT;
	assert_string_equal(job_view_result(&job).at, "SIGABRT, core dumped");
}

static void test_job_view_result__names_the_limit_and_the_control_group(void **state)
{
	struct job job = { .status = JOB_FAILED, .signal = SIGKILL };

	(void)state;
	job.cause = (struct cause){ .oom = CAUSE_PROOF_PROVEN,
		                    .oom_limit_bytes = UINT64_C(500) << 20,
		                    .oom_group = "/slurm/job_77" };
	assert_string_equal(job_view_result(&job).at,
	                    "out of memory (limit 500 MiB of /slurm/job_77)");
	assert_string_equal(job_outcome(&job), "oom");
	job.cause.oom = CAUSE_PROOF_LIKELY;
	assert_string_equal(job_view_result(&job).at,
	                    "probably out of memory (limit 500 MiB of /slurm/job_77)");
	snprintf(job.cause.oom_group, sizeof job.cause.oom_group,
	         "/system.slice/slurmstepd.scope/job_77/step_0/user/task_0");
	assert_string_equal(
		job_view_result(&job).at,
		"probably out of memory (limit 500 MiB of …/job_77/step_0/user/task_0)");
	snprintf(job.cause.oom_group, sizeof job.cause.oom_group, "/a/proctor-train-7");
	assert_string_equal(job_view_result(&job).at,
	                    "probably out of memory (limit 500 MiB of job train-7)");
	snprintf(job.cause.oom_group, sizeof job.cause.oom_group, "/");
	assert_string_equal(job_view_result(&job).at,
	                    "probably out of memory (limit 500 MiB of the container)");
	job.cause.oom_limit_bytes = 0;
	assert_string_equal(job_view_result(&job).at, "probably out of memory");
}

static void test_job_view_result__knows_whose_memory_was_short(void **state)
{
	struct job job = kit_oom_job();

	assert_string_equal(job_view_result(&job).at, "out of memory (own limit 8.0 GiB)");
	job.limits_hit = 0;
	assert_string_equal(job_view_result(&job).at, "out of memory");
	job.figures[JOB_FIGURE_OOM_KILLS].value = 0;
	assert_string_equal(job_view_result(&job).at, "SIGKILL");
	/* Nobody counted the kills. */
	job.figures[JOB_FIGURE_OOM_KILLS].quality = QUALITY_MISSING;
	job.limits_hit = 1u << JOB_LIMIT_MEM;
	assert_string_equal(job_view_result(&job).at, "out of memory (own limit 8.0 GiB)");
	/* One of its processes was killed, and it lived on. */
	job.figures[JOB_FIGURE_OOM_KILLS] = (struct figure){ 1, QUALITY_EXACT };
	job.status = JOB_COMPLETED;
	assert_string_equal(job_view_result(&job).at, "ok");
	assert_false(job_is_oom(&job));
}

static void test_job_view_quality__shows_the_interval_of_samples(void **state)
{
	struct job job = { .interval_ns = NS_PER_S / 4 };

	assert_string_equal(job_view_quality(&job, QUALITY_SAMPLED).at, "sampled 0.25 s");
	job.interval_ns = 0;
	assert_string_equal(job_view_quality(&job, QUALITY_SAMPLED).at, "sampled");
	assert_string_equal(job_view_quality(&job, QUALITY_AT_LEAST).at, "at least");
	assert_string_equal(job_view_quality(&job, QUALITY_MISSING).at, "missing");
}

static void test_job_view_cores__are_unknown_without_a_figure(void **state)
{
	struct job job = { .took_ns = NS_PER_S };

	assert_string_equal(job_view_cores_words(&job, 8).at, "");
	kit_figure(&job, JOB_FIGURE_CPU, 2 * NS_PER_S, QUALITY_AT_LEAST);
	assert_string_equal(job_view_cores_words(&job, 8).at, "2.0 of 8 cores busy");
	assert_string_equal(job_view_cores_words(&job, 0).at, "2.0 cores busy");
	job.took_ns = 0;
	assert_string_equal(job_view_cores_words(&job, 8).at, "");
}

static void test_job_view_cores__are_of_those_it_may_use(void **state)
{
	struct job job = { .took_ns = 10 * NS_PER_S };

	kit_figure(&job, JOB_FIGURE_CPU, 9 * NS_PER_S, QUALITY_EXACT);
	job.allowed.milli_cores = 1500;
	assert_string_equal(job_view_cores_words(&job, 8).at, "0.9 of 1.5 cores busy");
	job.allowed.milli_cores = 1000;
	assert_string_equal(job_view_cores_words(&job, 8).at, "0.9 of 1 core busy");
	job.allowed.milli_cores = 880; /* the last period was not over yet */
	assert_string_equal(job_view_cores_words(&job, 8).at, "0.9 of 0.88 cores busy");
	job.allowed.milli_cores = 500; /* two periods of which the second was not over */
	job.took_ns = 170 * NS_PER_MS;
	kit_figure(&job, JOB_FIGURE_CPU, 117 * NS_PER_MS, QUALITY_EXACT);
	assert_string_equal(job_view_cores_words(&job, 8).at, "0.7 of 0.5 cores busy");
	kit_figure(&job, JOB_FIGURE_CPU, 9 * NS_PER_S, QUALITY_EXACT);
	job.took_ns = 9 * NS_PER_S - 1;
	job.allowed.milli_cores = 1000;
	job.allowed.cpus = 1;
	assert_string_equal(job_view_cores_words(&job, 8).at, "1.0 of 1 core busy");
	kit_figure(&job, JOB_FIGURE_CPU, 18 * NS_PER_S,
	           QUALITY_EXACT); /* it was allowed more later */
	assert_string_equal(job_view_cores_words(&job, 8).at, "2.0 of 1 core busy");
}

static void test_job_view_figure__has_its_unit(void **state)
{
	struct job job = kit_good_job();

	assert_string_equal(job_view_figure_words(&job, JOB_FIGURE_CPU).at, "43m 15s");
	assert_string_equal(job_view_figure_words(&job, JOB_FIGURE_PEAK_RSS).at, "4.8 GiB");
	assert_string_equal(job_view_figure_words(&job, JOB_FIGURE_PROCESSES).at, "214");
	assert_string_equal(job_view_figure_words(&job, JOB_FIGURE_PEAK_CHARGED).at, "not known");
}

static void test_signame__knows_every_signal(void **state)
{
	assert_string_equal(signal_name(SIGKILL).at, "SIGKILL");
	assert_string_equal(signal_name(SIGRTMIN).at, "SIGRTMIN");
	assert_string_equal(signal_name(SIGRTMIN + 3).at, "SIGRTMIN+3");
	assert_string_equal(signal_name(99).at, "signal 99");
	assert_string_equal(signal_name(-7).at, "signal -7");
}

static void test_job_view_limit__of_the_user_is_distinguished(void **state)
{
	struct job job = { .status = JOB_FAILED, .has_exit_code = true, .exit_code = 2 };

	job.limit[JOB_LIMIT_USER_PIDS] = 100;
	assert_string_equal(job_view_limit_words(&job, JOB_LIMIT_USER_PIDS).at,
	                    "100 tasks of the whole user");
	job.limits_hit = 1u << JOB_LIMIT_USER_PIDS;
	assert_string_equal(job_view_result(&job).at,
	                    "exit 2, met its limit of 100 tasks of the whole user");
}

static void test_job_view_cores__are_shown_also_when_they_are_few(void **state)
{
	static const struct {
		uint64_t cpu_ms;
		const char *words;
	} cases[] = {
		{ 3420, "3.4 of 1 core busy" },         { 95, "0.1 of 1 core busy" },
		{ 31, "0.03 of 1 core busy" },          { 4, "less than 0.01 of 1 core busy" },
		{ 0, "less than 0.01 of 1 core busy" },
	};
	struct job job = { .took_ns = NS_PER_S };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		kit_figure(&job, JOB_FIGURE_CPU, cases[i].cpu_ms * NS_PER_MS, QUALITY_EXACT);
		assert_string_equal(job_view_cores_words(&job, 1).at, cases[i].words);
	}
}

static void test_job_view_result__names_the_job_around_it_whose_memory_was_short(void **state)
{
	struct job job = { .status = JOB_FAILED, .signal = SIGKILL };

	job.figures[JOB_FIGURE_OOM_KILLS] = (struct figure){ 1, QUALITY_EXACT };
	assert_string_equal(job_view_result(&job).at, "out of memory");
	job.parent_limits_hit = 1u << JOB_LIMIT_MEM;
	assert_string_equal(job_view_result(&job).at, "out of memory (limit of its parent job)");
}

RUN_TESTS(TEST(test_job_view_cores__are_shown_also_when_they_are_few),
          TEST(test_job_view_result__names_the_job_around_it_whose_memory_was_short),
          TEST(test_job_view_limit__of_the_user_is_distinguished),
          TEST(test_job_view_result__shows_how_it_ended),
          TEST(test_job_view_result__explains_why_a_command_never_ran),
          TEST(test_job_view_result__names_which_limit_it_met),
          TEST(test_job_view_result__names_the_sender_of_a_signal),
          TEST(test_job_view_result__names_the_limit_and_the_control_group),
          TEST(test_job_view_result__knows_whose_memory_was_short),
          TEST(test_job_view_quality__shows_the_interval_of_samples),
          TEST(test_job_view_cores__are_of_those_it_may_use),
          TEST(test_job_view_cores__are_unknown_without_a_figure),
          TEST(test_job_view_figure__has_its_unit), TEST(test_signame__knows_every_signal))
