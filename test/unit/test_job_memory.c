/* SPDX-License-Identifier: MIT */
#include "job/job_memory.h"

#include <string.h>

#include "check.h"

#define MIB ((uint64_t)1 << 20)
#define PAGES_PER_MIB 256

struct process {
	pid_t pid, ppid;
	const char *comm;
	uint64_t anon_mib, faults_mib; /* faults in pages that make so much memory */
	uint64_t pss_anon_mib;         /* 0: not read at this tick */
	uint64_t pss_shmem_mib;
};

static void add(struct job_memory *m, struct process p)
{
	struct proc_sample s = { .id = { p.pid, (uint64_t)p.pid },
		                 .ppid = p.ppid,
		                 .anon_bytes = p.anon_mib * MIB,
		                 .pss_anon_bytes = p.pss_anon_mib * MIB,
		                 .pss_shmem_bytes = p.pss_shmem_mib * MIB,
		                 .pss_is_fresh = p.pss_anon_mib > 0 };

	snprintf(s.comm, sizeof s.comm, "%s", p.comm);
	readings_set(&s.r, PROC_MINOR_FAULTS, p.faults_mib * PAGES_PER_MIB);
	job_memory_add(m, &s);
}

static uint64_t sum_mib(struct job_memory *m)
{
	return job_memory_sum(m) / MIB;
}

static void test_job_memory__counts_what_forked_processes_share_once(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, "python", 2048, 2048 });
	assert_int_equal(sum_mib(&m), 2048);
	add(&m, (struct process){ 10, 1, "python", 2048, 2048 });
	for (pid_t pid = 11; pid <= 22; pid++)
		add(&m, (struct process){ pid, 10, "python", 2048, 0 });
	assert_int_equal(sum_mib(&m), 2048);
	/* One child writes to 100 MiB of it, another one allocates 50. */
	add(&m, (struct process){ 10, 1, "python", 2048, 2048 });
	add(&m, (struct process){ 11, 10, "python", 2048, 100 });
	add(&m, (struct process){ 12, 10, "python", 2098, 50 });
	assert_int_equal(sum_mib(&m), 2048 + 100 + 50);
	/* All but one have ended: it holds what it has. */
	add(&m, (struct process){ 11, 1, "python", 2048, 100 });
	assert_int_equal(sum_mib(&m), 2048);
	job_memory_done(&m);
}

static void test_job_memory__counts_programs_that_share_nothing_in_full(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, "sh", 1, 1 });
	add(&m, (struct process){ 11, 10, "sort", 300, 300 });
	add(&m, (struct process){ 12, 10, "sort", 200, 200 });
	assert_int_equal(sum_mib(&m), 501);
	job_memory_done(&m);
}

/* As the workers of PyTorch do, at once or later. */
static void test_job_memory__counts_what_renamed_workers_share_once(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	add(&m, (struct process){ 10, 1, "python", 400, 400 });
	for (pid_t pid = 11; pid <= 18; pid++)
		add(&m, (struct process){ pid, 10, pid < 15 ? "worker" : "python", 400, 1 });
	assert_int_equal(sum_mib(&m), 408);
	add(&m, (struct process){ 10, 1, "python", 400, 400 });
	for (pid_t pid = 11; pid <= 18; pid++)
		add(&m, (struct process){ pid, 10, "worker", 401, 2 });
	assert_int_equal(sum_mib(&m), 416);
	/* One of them runs another program: all that it has is its own. */
	add(&m, (struct process){ 10, 1, "python", 400, 400 });
	add(&m, (struct process){ 11, 10, "sort", 300, 302 });
	assert_int_equal(sum_mib(&m), 700);
	job_memory_done(&m);
}

/* Its name is its parent's, and it took its pages one by one. */
static void test_job_memory__is_not_deceived_by_a_program_that_runs_itself(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, "python", 500, 500 });
	add(&m, (struct process){ 11, 10, "python", 400, 400 });
	assert_int_equal(sum_mib(&m), 900);
	job_memory_done(&m);
}

/* Huge pages: few faults for much memory. */
static void test_job_memory__is_corrected_by_what_the_kernel_divided(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, "python", 500, 1 });
	add(&m, (struct process){ 11, 10, "python", 400, 1 });
	assert_int_equal(sum_mib(&m), 501);
	add(&m, (struct process){ 10, 1, "python", 500, 1 });
	add(&m, (struct process){ 11, 10, "python", 400, 1, .pss_anon_mib = 400 });
	assert_int_equal(sum_mib(&m), 900);
	job_memory_done(&m);
}

static void test_job_memory__adds_shares_of_shared_memory(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, "a", 10, 10, 10, .pss_shmem_mib = 100 });
	add(&m, (struct process){ 11, 1, "b", 20, 20, 20, .pss_shmem_mib = 100 });
	assert_int_equal(sum_mib(&m), 230);
	job_memory_done(&m);
}

static void test_job_memory__follows_what_is_freed(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, "python", 100, 100 });
	add(&m, (struct process){ 11, 10, "python", 100, 0 });
	assert_int_equal(sum_mib(&m), 100);
	add(&m, (struct process){ 10, 1, "python", 100, 100 });
	add(&m, (struct process){ 11, 10, "python", 400, 300 });
	assert_int_equal(sum_mib(&m), 400);
	add(&m, (struct process){ 10, 1, "python", 100, 100 });
	add(&m, (struct process){ 11, 10, "python", 150, 300 });
	assert_int_equal(sum_mib(&m), 150);
	job_memory_done(&m);
}

static void test_job_memory__of_no_processes_is_nothing(void **state)
{
	struct job_memory m = { 0 };

	assert_int_equal(job_memory_sum(&m), 0);
	job_memory_done(&m);
}

RUN_TESTS(TEST(test_job_memory__counts_what_forked_processes_share_once),
          TEST(test_job_memory__counts_programs_that_share_nothing_in_full),
          TEST(test_job_memory__counts_what_renamed_workers_share_once),
          TEST(test_job_memory__is_not_deceived_by_a_program_that_runs_itself),
          TEST(test_job_memory__is_corrected_by_what_the_kernel_divided),
          TEST(test_job_memory__adds_shares_of_shared_memory),
          TEST(test_job_memory__follows_what_is_freed),
          TEST(test_job_memory__of_no_processes_is_nothing))
