/* SPDX-License-Identifier: MIT */
/* Kills for lack of memory, from files as the kernel has them. */
#include "job/cgroup/oom_watch.h"

#include "base/clock.h"
#include "base/mem.h"
#include "fake_machine.h"

#define V2 "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
#define V1 "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"

#define DS (NS_PER_S / 10) /* a tenth of a second */

static struct tree machine(const char *mounts, const char *membership)
{
	struct tree t = tree_new();

	tree_puts(&t, "proc/self/mountinfo", mounts);
	tree_puts(&t, "proc/self/cgroup", membership);
	tree_puts(&t, "proc/vmstat", "nr_free_pages 5\noom_kill 40\nthp_split 1\n");
	return t;
}

static void test_oom_watch__counts_kills_of_its_group_in_the_last_seconds(void **state)
{
	struct tree t = machine(V2, "0::/slurm/job_77\n");
	struct oom_watch w;

	(void)state;
	tree_puts(&t, "sys/fs/cgroup/slurm/job_77/memory.events", "low 0\noom 1\noom_kill 1\n");
	oom_watch_begin(&w, t.env.root_fd, 0, 0);
	assert_true(w.is_known);
	assert_false(w.is_of_machine);
	assert_int_equal(oom_watch_read(&w, 0, DS), 0);
	tree_puts(&t, "sys/fs/cgroup/slurm/job_77/memory.events", "low 0\noom 3\noom_kill 3\n");
	assert_int_equal(oom_watch_read(&w, 0, 2 * DS), 2);
	assert_int_equal(oom_watch_read(&w, 0, 9 * DS), 2);
	tree_puts(&t, "sys/fs/cgroup/slurm/job_77/memory.events", "low 0\noom 3\noom_kill 4\n");
	assert_int_equal(oom_watch_read(&w, 0, 10 * DS), 3);
	assert_int_equal(oom_watch_read(&w, 0, 19 * DS), 3); /* of 0.9 s ago */
	assert_int_equal(oom_watch_read(&w, 0, 20 * DS), 3);
	assert_int_equal(oom_watch_read(&w, 0, 21 * DS), 0); /* too long ago */
	tree_remove(&t);
}

static void test_oom_watch__counts_longer_where_much_memory_has_to_be_freed(void **state)
{
	const uint64_t bytes = UINT64_C(23) << 30;
	struct tree t = machine(V2, "0::/\n");
	struct oom_watch w;

	(void)state;
	oom_watch_begin(&w, t.env.root_fd, 0, 0);
	tree_puts(&t, "proc/vmstat", "oom_kill 41\n");
	for (unsigned s = 1; s <= 12; s++)
		assert_int_equal(oom_watch_read(&w, bytes, s * NS_PER_S), 1);
	assert_int_equal(oom_watch_read(&w, bytes, 60 * NS_PER_S), 1); /* not read in between */
	assert_int_equal(oom_watch_read(&w, bytes, 80 * NS_PER_S), 1);
	assert_int_equal(oom_watch_read(&w, bytes, 81 * NS_PER_S), 0);
	tree_remove(&t);
}

static void test_oom_watch__counts_kills_of_the_machine_where_no_group_does(void **state)
{
	struct tree t = machine(V2, "0::/\n");
	struct oom_watch w;

	(void)state;
	oom_watch_begin(&w, t.env.root_fd, 0, 0);
	assert_true(w.is_known && w.is_of_machine);
	tree_puts(&t, "proc/vmstat", "oom_kill 41\n");
	assert_int_equal(oom_watch_read(&w, 0, NS_PER_S), 1);
	tree_remove(&t);
}

static void test_oom_watch__knows_nothing_on_a_kernel_that_counts_none(void **state)
{
	struct tree t = machine(V1, "4:memory:/a\n");
	struct oom_watch w;

	(void)state;
	tree_puts(&t, "sys/fs/cgroup/memory/a/memory.oom_control",
	          "oom_kill_disable 0\nunder_oom 0\n");
	tree_puts(&t, "proc/vmstat", "nr_free_pages 5\n");
	oom_watch_begin(&w, t.env.root_fd, 0, 0);
	assert_false(w.is_known);
	assert_int_equal(oom_watch_read(&w, 0, NS_PER_S), 0);
	tree_remove(&t);
}

static void test_oom_watch__finds_the_group_whose_limit_was_reached(void **state)
{
	struct tree t = machine(V2, "0::/slurm/job_77/step\n");
	struct oom_watch w;
	struct oom_limit limit;

	(void)state;
	oom_watch_begin(&w, t.env.root_fd, 0, 0);
	tree_puts(&t, "sys/fs/cgroup/slurm/job_77/step/memory.max", "104857600\n");
	tree_puts(&t, "sys/fs/cgroup/slurm/job_77/step/memory.events.local", "oom 0\noom_kill 1\n");
	assert_false(oom_watch_find_limit(&w, &limit));
	tree_puts(&t, "sys/fs/cgroup/slurm/job_77/memory.max", "524288000\n");
	tree_puts(&t, "sys/fs/cgroup/slurm/job_77/memory.events.local", "oom 1\noom_kill 0\n");
	assert_true(oom_watch_find_limit(&w, &limit));
	assert_int_equal(limit.bytes, 524288000);
	assert_string_equal(limit.group, "/slurm/job_77");
	tree_remove(&t);
}

static void test_oom_watch__takes_a_full_group_on_v1(void **state)
{
	struct tree t = machine(V1, "4:memory:/slurm/job_77\n");
	struct oom_watch w;
	struct oom_limit limit;

	(void)state;
	oom_watch_begin(&w, t.env.root_fd, 0, 0);
	tree_puts(&t, "sys/fs/cgroup/memory/slurm/job_77/memory.limit_in_bytes",
	          "9223372036854771712\n");
	tree_puts(&t, "sys/fs/cgroup/memory/slurm/job_77/memory.max_usage_in_bytes", "524288000\n");
	tree_puts(&t, "sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "524288000\n");
	tree_puts(&t, "sys/fs/cgroup/memory/slurm/memory.max_usage_in_bytes", "400000000\n");
	assert_false(oom_watch_find_limit(&w, &limit));
	tree_puts(&t, "sys/fs/cgroup/memory/slurm/memory.max_usage_in_bytes", "524287000\n");
	assert_true(oom_watch_find_limit(&w, &limit));
	assert_string_equal(limit.group, "/slurm");
	tree_remove(&t);
}

RUN_TESTS(TEST(test_oom_watch__counts_kills_of_its_group_in_the_last_seconds),
          TEST(test_oom_watch__counts_longer_where_much_memory_has_to_be_freed),
          TEST(test_oom_watch__counts_kills_of_the_machine_where_no_group_does),
          TEST(test_oom_watch__knows_nothing_on_a_kernel_that_counts_none),
          TEST(test_oom_watch__finds_the_group_whose_limit_was_reached),
          TEST(test_oom_watch__takes_a_full_group_on_v1))
