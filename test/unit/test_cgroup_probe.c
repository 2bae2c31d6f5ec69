/* SPDX-License-Identifier: MIT */
#include <sys/wait.h>

#include "base/clock.h"
#include "kernel/cgroup_read.h"
#include "kernel/kernel_file.h"
#include "fake_machine.h"

static void test_cgroup_parse_number__wants_the_whole_key(void **state)
{
	uint64_t v = 7;

	(void)state;
	assert_true(cgroup_parse_number(scan_str("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\n"),
	                                "oom_kill", &v));
	assert_int_equal(v, 2);
	assert_true(cgroup_parse_number(scan_str("oom_kill_disable 1\nunder_oom 0\noom_kill 5\n"),
	                                "oom_kill", &v));
	assert_int_equal(v, 5);
	assert_false(cgroup_parse_number(scan_str("oom_kill_disable 1\n"), "oom_kill", &v));
	assert_false(cgroup_parse_number(scan_str(""), NULL, &v));
	assert_true(cgroup_parse_number(scan_str("193548288\n"), NULL, &v));
	assert_int_equal(v, 193548288);
}

static void test_cgroup_parse_limit__knows_what_is_no_limit(void **state)
{
	uint64_t v = 7;

	(void)state;
	assert_false(cgroup_parse_limit(scan_str("max\n"), &v));
	assert_false(cgroup_parse_limit(scan_str("9223372036854771712\n"), &v));
	assert_false(cgroup_parse_limit(scan_str("-1\n"), &v));
	assert_int_equal(v, 7);
	assert_true(cgroup_parse_limit(scan_str("1073741824\n"), &v));
	assert_int_equal(v, 1073741824);
	assert_false(cgroup_parse_cpu_max(scan_str("max 100000\n"), &v));
	assert_false(cgroup_parse_cpu_max(scan_str("100000 0\n"), &v));
	assert_true(cgroup_parse_cpu_max(scan_str("150000 100000\n"), &v));
	assert_int_equal(v, 1500);
}

static void put_v2_machine(const struct tree *t)
{
	tree_puts(t, "proc/self/mountinfo",
	          "28 24 0:25 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
	tree_puts(t, "proc/self/cgroup", "0::/batch.slice/job:7/step\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/memory.max", "4294967296\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/pids.max", "500\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/cpu.max", "max 100000\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/pids.current", "99\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/job:7/memory.max", "1073741824\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/job:7/memory.current", "1000000000\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/job:7/memory.stat",
	          "anon 300000000\nfile 680000000\ninactive_anon 1\ninactive_file 500000000\n"
	          "active_file 100000000\nslab_reclaimable 50000000\nslab 60000000\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/job:7/cpu.max", "150000 100000\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/job:7/pids.max", "max\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/job:7/step/memory.max", "max\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/job:7/step/cpu.max", "200000 100000\n");
	tree_puts(
		t, "sys/fs/cgroup/batch.slice/job:7/step/cpu.stat",
		"usage_usec 5000000\nuser_usec 3000000\nsystem_usec 2000000\nnice_usec 0\ncore_sched.force_idle_usec 0\n"
		"nr_periods 12\nnr_throttled 3\nthrottled_usec 70000\nnr_bursts 0\nburst_usec 0\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/job:7/step/memory.current", "104857600\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/job:7/step/memory.peak", "209715200\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/job:7/step/memory.events",
	          "low 0\nhigh 0\nmax 17\noom 2\noom_kill 1\noom_group_kill 0\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/job:7/step/memory.stat",
	          "anon 50000000\nfile 40000000\nanon_thp 7\nshmem 3000000\n");
	tree_puts(t, "sys/fs/cgroup/batch.slice/job:7/step/pids.current", "12\n");
}

static void test_cgroup_probe__reads_a_v2_group_and_the_smallest_limits_above_it(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct probe_health h;
	void *self;

	(void)state;
	put_v2_machine(&t);
	self = tree_probe(&probe_cgroup, &t.env, &s);
	assert_int_equal(s.cgroup.present, (UINT64_C(1) << CGROUP_METRIC_COUNT) - 1);
	assert_int_equal(s.cgroup.value[CGROUP_MEM_USED], 53000000);
	assert_int_equal(s.cgroup.value[CGROUP_CPU], 5 * NS_PER_S);
	assert_int_equal(s.cgroup.value[CGROUP_CPU_USER], 3 * NS_PER_S);
	assert_int_equal(s.cgroup.value[CGROUP_CPU_SYSTEM], 2 * NS_PER_S);
	assert_int_equal(s.cgroup.value[CGROUP_CPU_THROTTLED], 70 * NS_PER_MS);
	assert_int_equal(s.cgroup.value[CGROUP_CPU_LIMIT], 1500);
	assert_int_equal(s.cgroup.value[CGROUP_MEM], 100 << 20);
	assert_int_equal(s.cgroup.value[CGROUP_MEM_PEAK], 200 << 20);
	assert_int_equal(s.cgroup.value[CGROUP_MEM_LIMIT], 1 << 30);
	assert_int_equal(s.cgroup.value[CGROUP_MEM_LIMIT_HITS], 17);
	assert_int_equal(s.cgroup.value[CGROUP_OOM_KILLS], 1);
	assert_int_equal(s.cgroup.value[CGROUP_PIDS], 12);
	assert_int_equal(s.cgroup.value[CGROUP_PIDS_LIMIT], 500);
	/* The usage of the groups whose limits they are, without what the kernel can reclaim. */
	assert_int_equal(s.cgroup.value[CGROUP_MEM_LIMIT_USED], 350000000);
	assert_int_equal(s.cgroup.value[CGROUP_PIDS_LIMIT_USED], 99);
	probe_cgroup.health(self, &h);
	assert_int_equal(h.state, PROBE_WORKS);
	assert_string_equal(h.source, "cgroup v2");
	probe_cgroup.close(self);
	tree_remove(&t);
}

static void test_cgroup_probe__reads_v1_with_its_own_words(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct probe_health h;
	void *self;

	(void)state;
	tree_puts(&t, "proc/self/mountinfo",
	          "32 31 0:29 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	          "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n");
	tree_puts(&t, "proc/self/cgroup", "5:memory:/a/b\n4:cpu,cpuacct:/a\n");
	tree_puts(&t, "cg/cpu,cpuacct/a/cpuacct.usage", "1027931174848\n");
	tree_puts(&t, "cg/cpu,cpuacct/a/cpuacct.stat", "user 81073\nsystem 21719\n");
	tree_puts(&t, "cg/cpu,cpuacct/a/cpu.stat",
	          "nr_periods 9\nnr_throttled 4\nthrottled_time 123456789\n");
	tree_puts(&t, "cg/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n");
	tree_puts(&t, "cg/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
	tree_puts(&t, "cg/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
	tree_puts(&t, "cg/memory/a/b/memory.usage_in_bytes", "193548288\n");
	tree_puts(&t, "cg/memory/a/b/memory.max_usage_in_bytes", "314306560\n");
	tree_puts(&t, "cg/memory/a/b/memory.failcnt", "8\n");
	tree_puts(&t, "cg/memory/a/b/memory.oom_control",
	          "oom_kill_disable 0\nunder_oom 0\noom_kill 6\n");
	tree_puts(&t, "cg/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
	tree_puts(&t, "cg/memory/a/memory.limit_in_bytes", "1073741824\n");
	tree_puts(&t, "cg/memory/a/memory.usage_in_bytes", "900000000\n");
	tree_puts(&t, "cg/memory/a/memory.stat",
	          "inactive_file 1\nactive_file 2\ntotal_inactive_file 400000000\n"
	          "total_active_file 300000000\n");
	self = tree_probe(&probe_cgroup, &t.env, &s);
	assert_int_equal(s.cgroup.value[CGROUP_CPU], 1027931174848);
	assert_int_equal(s.cgroup.value[CGROUP_CPU_USER], 810730 * NS_PER_MS);
	assert_int_equal(s.cgroup.value[CGROUP_CPU_THROTTLED], 123456789);
	assert_int_equal(s.cgroup.value[CGROUP_CPU_LIMIT], 500);
	assert_int_equal(s.cgroup.value[CGROUP_MEM], 193548288);
	assert_int_equal(s.cgroup.value[CGROUP_MEM_PEAK], 314306560);
	assert_int_equal(s.cgroup.value[CGROUP_MEM_LIMIT_HITS], 8);
	assert_int_equal(s.cgroup.value[CGROUP_OOM_KILLS], 6);
	assert_int_equal(s.cgroup.value[CGROUP_MEM_LIMIT], 1 << 30);
	assert_int_equal(s.cgroup.value[CGROUP_MEM_LIMIT_USED], 200000000);
	assert_false(readings_has(&s.cgroup, CGROUP_PIDS));
	probe_cgroup.health(self, &h);
	assert_int_equal(h.state, PROBE_DEGRADED);
	assert_string_equal(h.note, "our group does not report: number of tasks");
	assert_string_equal(h.source, "cgroup v1");
	probe_cgroup.close(self);
	tree_remove(&t);
}

static void test_cgroup_probe__leaves_a_removed_group_absent_and_follows_a_move(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct err err = { 0 };
	void *self;

	(void)state;
	put_v2_machine(&t);
	self = tree_probe(&probe_cgroup, &t.env, &s);
	tree_puts(&t, "proc/self/cgroup", "0::/gone (deleted)\n");
	sample_reset(&s);
	assert_int_equal(probe_cgroup.read(self, &s, &err), 0);
	assert_int_equal(s.cgroup.present, 0);
	tree_puts(&t, "proc/self/cgroup", "0::/batch.slice\n");
	sample_reset(&s);
	assert_int_equal(probe_cgroup.read(self, &s, &err), 0);
	assert_int_equal(s.cgroup.value[CGROUP_MEM_LIMIT], UINT64_C(4294967296));
	assert_false(readings_has(&s.cgroup, CGROUP_MEM));
	probe_cgroup.close(self);
	tree_remove(&t);
}

static void test_cgroup_probe__gives_the_reason_when_there_is_no_group(void **state)
{
	struct tree t = tree_new();
	struct err err = { 0 };
	void *self = NULL;

	(void)state;
	assert_int_equal(probe_cgroup.open(&t.env, &self, &err), -ENOENT);
	tree_puts(&t, "proc/self/cgroup", "0::/\n");
	tree_puts(&t, "proc/self/mountinfo", "22 27 0:21 / /proc rw,relatime - proc proc rw\n");
	assert_int_equal(probe_cgroup.open(&t.env, &self, &err), -ENOENT);
	assert_string_equal(err.msg, "our control group is in no hierarchy that is mounted here");
	tree_remove(&t);
}

/* ---- on the live machine
 * ------------------------------------------------------------------------------------- */

static bool put_live(int root_fd, const char *dir, const char *file, const char *text)
{
	char path[PATH_MAX + 32];
	int fd;
	bool ok;

	snprintf(path, sizeof path, "%s/%s", dir, file);
	fd = openat(root_fd, path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return ok;
}

static void burn(uint64_t ns)
{
	uint64_t end = clock_process_cpu_ns() + ns;

	while (clock_process_cpu_ns() < end)
		;
}

/* In the child that lives in the new group: 0 when the probe sees the group as it is. */
static int read_from_inside(const struct probe_env *env, bool has_limit)
{
	struct sample s = { 0 };
	void *self = tree_probe(&probe_cgroup, env, &s);
	uint64_t before = readings_or(&s.cgroup, CGROUP_CPU, 0);
	struct err err = { 0 };

	if (has_limit && readings_or(&s.cgroup, CGROUP_MEM_LIMIT, 0) != 64 << 20)
		return 1;
	if (has_limit && readings_or(&s.cgroup, CGROUP_MEM, 0) > 64 << 20)
		return 2;
	burn(50 * NS_PER_MS);
	sample_reset(&s);
	if (probe_cgroup.read(self, &s, &err) < 0)
		return 3;
	probe_cgroup.close(self);
	return readings_or(&s.cgroup, CGROUP_CPU, 0) < before + 40 * NS_PER_MS ? 4 : 0;
}

static void test_cgroup_probe__sees_a_real_group_with_a_real_limit(void **state)
{
	struct probe_env env = tree_live();
	struct cgroup_mounts *mounts = calloc(1, sizeof *mounts);
	struct cgroup_dirs *dirs = calloc(1, sizeof *dirs);
	struct buf text = { 0 };
	char dir[PATH_MAX], mypid[32];
	bool has_limit;
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(kernel_file_load(env.root_fd, "proc/self/mountinfo", &text), 0);
	cgroup_parse_mountinfo(kernel_file_text(&text), mounts);
	assert_int_equal(kernel_file_load(env.root_fd, "proc/self/cgroup", &text), 0);
	assert_true(cgroup_locate(kernel_file_text(&text), mounts, dirs));
	snprintf(dir, sizeof dir, "%.3000s/proctor-test-%d", dirs->of[CGROUP_FAMILY_MEMORY].path,
	         getpid());
	if (mkdirat(env.root_fd, dir, 0755) < 0) {
		assert_true(geteuid() != 0 || errno == EROFS);
		skip();
	}
	has_limit = put_live(env.root_fd, dir,
	                     dirs->of[CGROUP_FAMILY_MEMORY].is_v2 ? "memory.max"
	                                                          : "memory.limit_in_bytes",
	                     "67108864");
	child = fork();
	if (child == 0) {
		snprintf(mypid, sizeof mypid, "%d", getpid());
		_exit(put_live(env.root_fd, dir, "cgroup.procs", mypid)
		              ? read_from_inside(&env, has_limit)
		              : 9);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	for (int i = 0; i < 1000 && unlinkat(env.root_fd, dir, AT_REMOVEDIR) < 0; i++)
		usleep(10000);
	assert_int_equal(status, 0);
	if (!dirs->of[CGROUP_FAMILY_MEMORY].is_v2)
		assert_true(has_limit);
	buf_done(&text);
	free(mounts);
	free(dirs);
	close(env.root_fd);
}

RUN_TESTS(TEST(test_cgroup_parse_number__wants_the_whole_key),
          TEST(test_cgroup_parse_limit__knows_what_is_no_limit),
          TEST(test_cgroup_probe__reads_a_v2_group_and_the_smallest_limits_above_it),
          TEST(test_cgroup_probe__reads_v1_with_its_own_words),
          TEST(test_cgroup_probe__leaves_a_removed_group_absent_and_follows_a_move),
          TEST(test_cgroup_probe__gives_the_reason_when_there_is_no_group),
          TEST(test_cgroup_probe__sees_a_real_group_with_a_real_limit))
