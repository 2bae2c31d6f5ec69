/* SPDX-License-Identifier: MIT */
/* What is written into a group's files, and how they show that a limit was met; files as the kernel
 * has them. */
#include "job/cgroup/cgroup_limit.h"
#include "fake_machine.h"

static struct tree group_files(const char *const *files)
{
	struct tree t = tree_new();

	for (; *files; files++)
		tree_puts(&t, *files, "");
	return t;
}

static const char *content(const struct tree *t, const char *file)
{
	static char text[256];
	int fd = openat(t->env.root_fd, file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	text[MAX(n, 0)] = '\0';
	return text;
}

static int set(const struct tree *t, enum job_limit id, bool is_v2, uint64_t value,
               const char **ret)
{
	for (size_t i = 0; i < GROUP_LIMITS; i++)
		if (group_limits[i].id == id)
			return cgroup_limit_set(&group_limits[i], t->env.root_fd, is_v2, value,
			                        ret);
	return -ENOENT;
}

static bool was_hit(const struct tree *t, enum job_limit id, bool is_v2)
{
	for (size_t i = 0; i < GROUP_LIMITS; i++)
		if (group_limits[i].id == id)
			return cgroup_limit_was_hit(&group_limits[i], t->env.root_fd, is_v2);
	return false;
}

static void test_cgroup_limit__of_memory_leaves_no_way_out_into_swap(void **state)
{
	struct tree v2 = group_files((const char *[]){ "memory.max", "memory.swap.max", NULL });
	struct tree v1 = group_files(
		(const char *[]){ "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", NULL });
	const char *file;

	assert_int_equal(set(&v2, JOB_LIMIT_MEM, true, 1 << 20, &file), 0);
	assert_string_equal(content(&v2, "memory.max"), "1048576");
	assert_string_equal(content(&v2, "memory.swap.max"), "0");
	assert_int_equal(set(&v1, JOB_LIMIT_MEM, false, 1 << 20, &file), 0);
	assert_string_equal(content(&v1, "memory.limit_in_bytes"), "1048576");
	assert_string_equal(content(&v1, "memory.memsw.limit_in_bytes"), "1048576");
	tree_remove(&v2);
	tree_remove(&v1);
}

static void test_cgroup_limit__of_memory_does_without_counted_swap(void **state)
{
	struct tree t = group_files((const char *[]){ "memory.max", NULL });
	const char *file;

	assert_int_equal(set(&t, JOB_LIMIT_MEM, true, 4096, &file), 0);
	assert_string_equal(content(&t, "memory.max"), "4096");
	tree_remove(&t);
}

static void test_cgroup_limit__of_cpu_is_a_quota_of_at_least_a_millisecond(void **state)
{
	struct tree v2 = group_files((const char *[]){ "cpu.max", NULL });
	struct tree v1 = group_files(
		(const char *[]){ "cpu.cfs_period_us", "cpu.cfs_quota_us", NULL });
	const char *file;

	assert_int_equal(set(&v2, JOB_LIMIT_CPU, true, 1500, &file), 0);
	assert_string_equal(content(&v2, "cpu.max"), "150000 100000");
	assert_int_equal(set(&v2, JOB_LIMIT_CPU, true, 1, &file), 0);
	assert_memory_equal(content(&v2, "cpu.max"), "1000 1000000", 12);
	assert_int_equal(set(&v1, JOB_LIMIT_CPU, false, 500, &file), 0);
	assert_string_equal(content(&v1, "cpu.cfs_period_us"), "100000");
	assert_string_equal(content(&v1, "cpu.cfs_quota_us"), "50000");
	tree_remove(&v2);
	tree_remove(&v1);
}

static void test_cgroup_limit__names_the_file_that_refused(void **state)
{
	struct tree t = tree_new();
	const char *file = "";

	assert_int_equal(set(&t, JOB_LIMIT_PIDS, true, 8, &file), -ENOENT);
	assert_string_equal(file, "pids.max");
	tree_remove(&t);
}

static void test_cgroup_limit__was_hit_on_v2_when_its_own_events_count_it(void **state)
{
	struct tree t = tree_new();

	/* A kill may be the doing of an ancestor's limit. */
	tree_puts(&t, "memory.events",
	          "low 0\nhigh 0\nmax 8\noom 3\noom_kill 3\noom_group_kill 0\n");
	assert_true(was_hit(&t, JOB_LIMIT_MEM, true));
	tree_puts(&t, "memory.events.local", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 3\n");
	assert_false(was_hit(&t, JOB_LIMIT_MEM, true));
	tree_puts(&t, "memory.events.local", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n");
	assert_true(was_hit(&t, JOB_LIMIT_MEM, true));
	tree_puts(&t, "pids.events", "max 0\n");
	assert_false(was_hit(&t, JOB_LIMIT_PIDS, true));
	tree_puts(&t, "pids.events", "max 2\n");
	assert_true(was_hit(&t, JOB_LIMIT_PIDS, true));
	tree_puts(&t, "cpu.stat", "usage_usec 9\nnr_periods 4\nnr_throttled 0\nthrottled_usec 0\n");
	assert_false(was_hit(&t, JOB_LIMIT_CPU, true));
	tree_puts(&t, "cpu.stat", "usage_usec 9\nnr_periods 4\nnr_throttled 1\nthrottled_usec 7\n");
	assert_true(was_hit(&t, JOB_LIMIT_CPU, true));
	tree_remove(&t);
}

static void test_cgroup_limit__was_hit_on_v1_when_somebody_was_killed_in_a_full_group(void **state)
{
	struct tree t = tree_new();

	tree_puts(&t, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
	tree_puts(&t, "memory.limit_in_bytes", "16777216\n");
	tree_puts(&t, "memory.max_usage_in_bytes", "16773120\n");
	assert_true(was_hit(&t, JOB_LIMIT_MEM, false));
	tree_puts(&t, "memory.max_usage_in_bytes", "4194304\n"); /* an ancestor was full */
	assert_false(was_hit(&t, JOB_LIMIT_MEM, false));
	tree_puts(&t, "memory.max_usage_in_bytes", "16777216\n");
	tree_puts(&t, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
	assert_false(was_hit(&t, JOB_LIMIT_MEM, false)); /* page cache gave way */
	tree_remove(&t);
}

RUN_TESTS(TEST(test_cgroup_limit__of_memory_leaves_no_way_out_into_swap),
          TEST(test_cgroup_limit__of_memory_does_without_counted_swap),
          TEST(test_cgroup_limit__of_cpu_is_a_quota_of_at_least_a_millisecond),
          TEST(test_cgroup_limit__names_the_file_that_refused),
          TEST(test_cgroup_limit__was_hit_on_v2_when_its_own_events_count_it),
          TEST(test_cgroup_limit__was_hit_on_v1_when_somebody_was_killed_in_a_full_group))
