/* SPDX-License-Identifier: MIT */
#include "job/job_usage.h"

#include "check.h"
#include "model_kit.h"

#define MIB ((uint64_t)1 << 20)

static void assert_figure(struct figure f, uint64_t value, enum quality quality)
{
	assert_int_equal(f.quality, quality);
	assert_int_equal(f.value, value);
}

static void take_reader(struct accounting *t, pid_t pid, uint64_t read_bytes)
{
	struct proc_snap p = { .s.id = { pid, 1 } };

	readings_set(&p.s.r, PROC_READ_BYTES, read_bytes);
	readings_set(&p.s.r, PROC_WRITE_BYTES, 2 * read_bytes);
	accounting_take_process(t, &p);
}

static void reap_reader(struct accounting *t, uint64_t read_bytes)
{
	accounting_reap(t, &(struct launch_end){ .has_io = true,
	                                         .read_bytes = read_bytes,
	                                         .written_bytes = 2 * read_bytes });
}

static void test_job_usage__counts_cpu_of_the_group_before_that_of_processes(void **state)
{
	struct accounting t = { .reaped_any = true, .reaped_user_ns = 5, .reaped_system_ns = 2 };
	struct cgroup_readings group = { 0 };
	struct job_usage usage = { 0 };

	job_usage_update(&usage, &t, &(struct job_usage_sources){ .group = &group });
	assert_figure(usage.cpu, 7, QUALITY_AT_LEAST);
	assert_figure(usage.cpu_user, 5, QUALITY_AT_LEAST);
	readings_set(&group, CGROUP_CPU, 9);
	job_usage_update(&usage, &t, &(struct job_usage_sources){ .group = &group });
	assert_figure(usage.cpu, 9, QUALITY_EXACT);
	assert_int_equal(usage.cpu_user.quality, QUALITY_MISSING);
}

static void test_job_usage__knows_what_is_charged_only_from_a_group(void **state)
{
	const struct figure used = { 30 * MIB, QUALITY_SAMPLED };
	struct cgroup_readings group = { 0 };
	struct job_usage usage = { 0 };

	job_usage_take_memory(&usage, NULL, used);
	assert_figure(usage.used, 30 * MIB, QUALITY_SAMPLED);
	assert_int_equal(usage.charged.quality, QUALITY_MISSING);
	readings_set(&group, CGROUP_MEM, 50 * MIB); /* as v1 without memory.stat */
	assert_false(job_usage_counts_memory(&group));
	job_usage_take_memory(&usage, &group, used);
	assert_figure(usage.used, 30 * MIB, QUALITY_SAMPLED);
	assert_figure(usage.charged, 50 * MIB, QUALITY_SAMPLED);
}

static void test_job_usage__uses_memory_now_only_while_it_runs(void **state)
{
	const struct job_usage usage = { .used = { 500 * MIB, QUALITY_SAMPLED } };
	const struct job_usage_sources from = { .processes = 1 };
	struct accounting t = { 0 };
	struct job job = { 0 };

	job_usage_figures(&usage, &t, &from, &job);
	assert_figure(job.figures[JOB_FIGURE_USED], 500 * MIB, QUALITY_SAMPLED);
	job.status = JOB_COMPLETED;
	job_usage_figures(&usage, &t, &from, &job);
	assert_int_equal(job.figures[JOB_FIGURE_USED].quality, QUALITY_MISSING);
}

static void test_job_usage__keeps_the_io_of_the_living_when_an_orphan_was_reaped(void **state)
{
	struct job_usage_sources from = { .processes = 2, .living = 1 };
	struct job_usage usage = { 0 };
	struct accounting t = { 0 };

	take_reader(&t, 10, 100);
	accounting_end_tick(&t);
	reap_reader(&t, 3);
	job_usage_update(&usage, &t, &from);
	assert_figure(usage.read, 100, QUALITY_AT_LEAST);
	assert_figure(usage.written, 200, QUALITY_AT_LEAST);
	reap_reader(&t, 110);
	from.living = 0;
	from.is_over = true;
	job_usage_update(&usage, &t, &from);
	assert_figure(usage.read, 113, QUALITY_AT_LEAST);
	accounting_done(&t);
}

RUN_TESTS(TEST(test_job_usage__counts_cpu_of_the_group_before_that_of_processes),
          TEST(test_job_usage__knows_what_is_charged_only_from_a_group),
          TEST(test_job_usage__uses_memory_now_only_while_it_runs),
          TEST(test_job_usage__keeps_the_io_of_the_living_when_an_orphan_was_reaped))
