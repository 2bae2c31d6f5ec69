/* SPDX-License-Identifier: MIT */
/* What a job may use, from files as the kernel has them. */
#include "job/allowance.h"

#include <sched.h>

#include "fake_machine.h"

#define MIB (UINT64_C(1) << 20)
#define V2 "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
#define V1                                                                                         \
	"31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"                        \
	"32 23 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"

static struct tree machine(const char *mounts, const char *membership)
{
	struct tree t = tree_new();

	tree_puts(&t, "proc/self/mountinfo", mounts);
	tree_puts(&t, "proc/self/cgroup", membership);
	tree_puts(&t, "proc/meminfo", "MemTotal:        4096000 kB\nMemFree:  1 kB\n");
	return t;
}

static uint64_t own_cores(void)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
	return (uint64_t)CPU_COUNT(&set);
}

static void test_allowance__is_the_machine_where_nothing_is_limited(void **state)
{
	struct tree t = machine(V2, "0::/\n");
	struct job job = { 0 };

	(void)state;
	allowance_find(t.env.root_fd, 0, &job);
	assert_int_equal(job.allowed.milli_cores, own_cores() * 1000);
	assert_int_equal(job.allowed.memory_bytes, UINT64_C(4096000) * 1024);
	assert_string_equal(job.allowed.memory_source, "machine");
	assert_int_equal(job.allowed.time_ns, 0);
	tree_remove(&t);
}

static void test_allowance__is_the_machine_where_there_are_no_control_groups(void **state)
{
	struct tree t = machine("23 1 0:21 / /proc rw - proc proc rw\n", "");
	struct job job = { 0 };

	(void)state;
	allowance_find(t.env.root_fd, 0, &job);
	assert_int_equal(job.allowed.memory_bytes, UINT64_C(4096000) * 1024);
	assert_string_equal(job.allowed.memory_source, "machine");
	tree_remove(&t);
}

static void test_allowance__is_the_lowest_limit_around_it_on_v2(void **state)
{
	struct tree t = machine(V2, "0::/slurm/job_77/step\n");
	struct job job = { 0 };

	(void)state;
	tree_puts(&t, "sys/fs/cgroup/slurm/job_77/step/memory.max", "max\n");
	tree_puts(&t, "sys/fs/cgroup/slurm/job_77/memory.max", "524288000\n");
	tree_puts(&t, "sys/fs/cgroup/slurm/memory.max", "1048576000\n");
	tree_puts(&t, "sys/fs/cgroup/slurm/job_77/step/cpu.max", "90000 100000\n");
	tree_puts(&t, "sys/fs/cgroup/slurm/cpu.max", "25000 100000\n");
	allowance_find(t.env.root_fd, 0, &job);
	assert_int_equal(job.allowed.memory_bytes, 524288000);
	assert_string_equal(job.allowed.memory_source, "/slurm/job_77");
	assert_int_equal(job.allowed.milli_cores, 250);
	tree_remove(&t);
}

static void test_allowance__is_the_lowest_limit_around_it_on_v1(void **state)
{
	struct tree t = machine(V1, "4:memory:/a/b\n3:cpu:/a\n");
	struct job job = { 0 };

	(void)state;
	tree_puts(&t, "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
	tree_puts(&t, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "104857600\n");
	tree_puts(&t, "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n");
	tree_puts(&t, "sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
	allowance_find(t.env.root_fd, 0, &job);
	assert_int_equal(job.allowed.memory_bytes, 100 * MIB);
	assert_string_equal(job.allowed.memory_source, "/a");
	assert_int_equal(job.allowed.milli_cores, 500);
	tree_remove(&t);
}

static void test_allowance__is_the_jobs_own_limit_if_that_is_lower(void **state)
{
	struct tree t = machine(V2, "0::/a\n");
	struct job job = {
		.limit = { [JOB_LIMIT_MEM] = 50 * MIB, [JOB_LIMIT_CPU] = 100, [JOB_LIMIT_TIME] = 7 }
	};

	(void)state;
	tree_puts(&t, "sys/fs/cgroup/a/memory.max", "104857600\n");
	allowance_find(t.env.root_fd, 0, &job);
	assert_int_equal(job.allowed.memory_bytes, 50 * MIB);
	assert_string_equal(job.allowed.memory_source, "own");
	assert_int_equal(job.allowed.milli_cores, 100);
	assert_int_equal(job.allowed.time_ns, 7);
	tree_remove(&t);
}

static void test_allowance__knows_the_group_that_a_launcher_made_for_the_job(void **state)
{
	struct tree t = machine(V2, "0::/a/proctor-make-1\n");
	struct job job = { .id = "make-1" }, other = { .id = "make-2" };

	(void)state;
	tree_puts(&t, "sys/fs/cgroup/a/proctor-make-1/memory.max", "104857600\n");
	allowance_find(t.env.root_fd, 0, &job);
	allowance_find(t.env.root_fd, 0, &other);
	assert_string_equal(job.allowed.memory_source, "own");
	assert_string_equal(other.allowed.memory_source, "/a/proctor-make-1");
	tree_remove(&t);
}

static void test_allowance__is_the_address_space_of_each_process_if_that_is_lower(void **state)
{
	struct tree t = machine(V2, "0::/\n");
	struct job job = { 0 };

	(void)state;
	tree_puts(
		&t, "proc/self/limits",
		"Limit                     Soft Limit           Hard Limit           Units     \n"
		"Max data size             unlimited            unlimited            bytes     \n"
		"Max address space         1048576000           unlimited            bytes     \n");
	allowance_find(t.env.root_fd, 0, &job);
	assert_int_equal(job.allowed.memory_bytes, 1000 * MIB);
	assert_string_equal(job.allowed.memory_source, "ulimit");
	tree_remove(&t);
}

static void test_allowance__is_not_known_of_a_process_that_is_gone(void **state)
{
	struct tree t = machine(V2, "0::/\n");
	struct job job = { 0 };

	(void)state;
	allowance_find(t.env.root_fd, 4711, &job);
	assert_int_equal(job.allowed.milli_cores, 0);
	assert_int_equal(job.allowed.memory_bytes, 0);
	assert_string_equal(job.allowed.memory_source, "");
	tree_remove(&t);
}

static void test_allowance__stays_what_it_was_at_the_start(void **state)
{
	struct tree t = machine(V2, "0::/\n");
	struct job job = { .allowed = { .milli_cores = 4000, .memory_bytes = MIB } };

	(void)state;
	allowance_find(t.env.root_fd, 0, &job);
	assert_int_equal(job.allowed.milli_cores, 4000);
	assert_int_equal(job.allowed.memory_bytes, MIB);
	tree_remove(&t);
}

RUN_TESTS(TEST(test_allowance__is_the_machine_where_nothing_is_limited),
          TEST(test_allowance__is_the_machine_where_there_are_no_control_groups),
          TEST(test_allowance__is_the_lowest_limit_around_it_on_v2),
          TEST(test_allowance__is_the_lowest_limit_around_it_on_v1),
          TEST(test_allowance__is_the_jobs_own_limit_if_that_is_lower),
          TEST(test_allowance__knows_the_group_that_a_launcher_made_for_the_job),
          TEST(test_allowance__is_the_address_space_of_each_process_if_that_is_lower),
          TEST(test_allowance__is_not_known_of_a_process_that_is_gone),
          TEST(test_allowance__stays_what_it_was_at_the_start))
