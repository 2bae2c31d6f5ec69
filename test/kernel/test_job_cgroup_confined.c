/* SPDX-License-Identifier: MIT */
/* The control group of a job where not everything is allowed: as a plain user in a delegated group,
 * in a cgroup namespace, and where the control groups are read-only. */
#include "kernel_kit.h"

#include "kernel/cgroup_dir.h"

static struct cgroup_home home;

/* A v2 group of our own, for what runs inside. */
struct yard {
	char path[PATH_MAX + 64];
};

static struct yard yard_new(void)
{
	struct yard y;

	if (!home.v2.path[0])
		skip();
	snprintf(y.path, sizeof y.path, "/%s/test-group-%d", home.v2.path, getpid());
	assert_int_equal(mkdir(y.path, 0755), 0);
	return y;
}

static bool yard_enter(const struct yard *y)
{
	char path[PATH_MAX + 128];

	snprintf(path, sizeof path, "%s/cgroup.procs", y->path);
	return put_text(path, "0");
}

/* As systemd's Delegate= does it. */
static bool yard_delegate(const struct yard *y, uid_t uid)
{
	static const char *const files[] = { "", "/cgroup.procs", "/cgroup.threads",
		                             "/cgroup.subtree_control" };
	char path[PATH_MAX + 128];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof path, "%s%s", y->path, files[i]);
		if (chown(path, uid, uid) < 0)
			return false;
	}
	return true;
}

static void yard_remove(struct yard *y)
{
	for (int i = 0; i < 10000 && rmdir(y->path) < 0; i++)
		usleep(1000);
}

static bool has_exactly(pid_t pid, const char *text)
{
	char at[512];

	return membership(pid, "0::", at) && strstr(at, text);
}

/* All that a job's life needs. */
static int live_a_life(const struct yard *y)
{
	uint64_t each = 5 * NS_PER_MS;
	struct cgroup_readings r = { 0 };
	struct job_cgroup *g = make_group("life", 0, 0);
	struct err err = { 0 };
	pid_t pid, left;

	EXPECT(g);
	EXPECT(strncmp(job_cgroup_describe(g), "cgroup v2", strlen("cgroup v2")) == 0);
	EXPECT((pid = spawn(g, burn_ns, &each)) > 0 && waitpid(pid, NULL, 0) == pid);
	job_cgroup_read(g, &r);
	EXPECT(readings_or(&r, CGROUP_CPU, 0) >= each);
	EXPECT((pid = spawn(g, linger, NULL)) > 0 && job_cgroup_pids(g, NULL, 0) == 1);
	EXPECT(job_cgroup_kill(g, SIGKILL, &err) == 0 && waitpid(pid, NULL, 0) == pid);
	job_cgroup_close(g);
	EXPECT((g = make_group("life", 0, 0)));
	EXPECT((left = spawn(g, linger, NULL)) > 0);
	EXPECT(has_exactly(left, "/" CGROUP_DIR_PREFIX "life"));
	job_cgroup_close(g);
	EXPECT(!has_exactly(left, "/" CGROUP_DIR_PREFIX "life"));
	EXPECT(kill(left, SIGKILL) == 0 && waitpid(left, NULL, 0) == left);
	EXPECT(count_dirs(y->path, CGROUP_DIR_PREFIX) == 0);
	return 0;
}

static int live_as_nobody(void *arg)
{
	struct yard *y = arg;

	EXPECT(yard_enter(y) && yard_delegate(y, 65534) && drop_to(0));
	return live_a_life(y);
}

static void test_job_cgroup__works_for_a_plain_user_in_a_delegated_group(void **state)
{
	struct yard y = yard_new();
	int status = reap(child(live_as_nobody, &y));

	yard_remove(&y);
	assert_int_equal(status, 0);
}

/* What is refused, and that nothing stays. */
static int ask_as_nobody(void *arg)
{
	static const uint64_t mem[JOB_LIMIT_COUNT] = { [JOB_LIMIT_MEM] = 1 << 30 };
	static const uint64_t pids[JOB_LIMIT_COUNT] = { [JOB_LIMIT_PIDS] = 100 };
	static const uint64_t none[JOB_LIMIT_COUNT] = { 0 };
	struct yard *y = arg;
	struct job_cgroup *g = NULL;
	struct err err = { 0 };
	char why[256];

	EXPECT(yard_enter(y) && drop_to(0));
	EXPECT(try_group("none", none, &g, why, &err) == 0 && !g);
	EXPECT(strstr(why, "Permission denied"));
	EXPECT(try_group("mem", mem, &g, why, &err) == -ENOTSUP && !g);
	EXPECT(strstr(err.msg, "--mem") && strstr(err.msg, "Permission denied"));
	EXPECT(strstr(err.msg, "systemd-run"));
	EXPECT(try_group("pids", pids, &g, why, &err) == 0 && !g);
	EXPECT(job_cgroup_needs_rlimit_pids(g, pids));
	EXPECT(!job_cgroup_needs_rlimit_pids(g, none));
	return 0;
}

static void test_job_cgroup__reports_what_a_plain_user_may_not(void **state)
{
	struct yard y = yard_new();
	int status = reap(child(ask_as_nobody, &y));

	yard_remove(&y);
	assert_int_equal(status, 0);
}

static int live_in_namespace(void *arg)
{
	struct yard *y = arg;
	char at[512], point[PATH_MAX + 2];

	snprintf(point, sizeof point, "/%.*s", (int)home.v2.floor, home.v2.path);
	EXPECT(yard_enter(y));
	EXPECT(unshare(CLONE_NEWCGROUP | CLONE_NEWNS) == 0);
	EXPECT(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	EXPECT(umount2(point, MNT_DETACH) == 0 && mount("none", point, "cgroup2", 0, NULL) == 0);
	EXPECT(membership(getpid(), "0::", at) && strcmp(at, "/") == 0);
	snprintf(y->path, sizeof y->path, "%s", point);
	return live_a_life(y);
}

static void test_job_cgroup__works_in_a_cgroup_namespace(void **state)
{
	struct yard y = yard_new();
	int status = reap(child(live_in_namespace, &y));

	yard_remove(&y);
	assert_int_equal(status, 0);
}

static int ask_read_only(void *arg)
{
	static const uint64_t none[JOB_LIMIT_COUNT] = { 0 };
	static const uint64_t pids[JOB_LIMIT_COUNT] = { [JOB_LIMIT_PIDS] = 100 };
	struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY };
	struct job_cgroup *g = NULL;
	struct err err = { 0 };
	char why[256];

	(void)arg;
	EXPECT(unshare(CLONE_NEWNS) == 0);
	EXPECT(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	EXPECT(syscall(SYS_mount_setattr, AT_FDCWD, "/sys/fs/cgroup", AT_RECURSIVE, &ro,
	               sizeof ro) == 0);
	EXPECT(try_group("none", none, &g, why, &err) == 0 && !g);
	EXPECT(strstr(why, "Read-only file system"));
	/* Root forks past RLIMIT_NPROC, so nothing could hold it. */
	EXPECT(try_group("pids", pids, &g, why, &err) == -ENOTSUP && !g);
	EXPECT(strstr(err.msg, "--pids") && strstr(err.msg, "Read-only file system"));
	return 0;
}

static void test_job_cgroup__reports_that_control_groups_are_read_only(void **state)
{
	assert_int_equal(reap(child(ask_read_only, NULL)), 0);
}

RUN_GROUP_TESTS(&home, TEST(test_job_cgroup__works_for_a_plain_user_in_a_delegated_group),
                TEST(test_job_cgroup__reports_what_a_plain_user_may_not),
                TEST(test_job_cgroup__works_in_a_cgroup_namespace),
                TEST(test_job_cgroup__reports_that_control_groups_are_read_only))
