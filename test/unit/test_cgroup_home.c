/* SPDX-License-Identifier: MIT */
/* Where a job's control group would be made, and what is reported where it cannot: on trees made by
 * hand. test/kernel/test_group.c has the real ones. */
#include "job/cgroup/job_cgroup.h"
#include "job/cgroup/cgroup_home.h"
#include "fake_machine.h"

#define HYBRID                                                                                     \
	"32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"                      \
	"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"               \
	"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
#define PURE_V2 "28 24 0:25 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"

static struct tree machine(const char *mountinfo, const char *membership)
{
	struct tree t = tree_new();

	tree_puts(&t, "proc/self/mountinfo", mountinfo);
	tree_puts(&t, "proc/self/cgroup", membership);
	return t;
}

static int ask(const struct tree *t, enum job_limit limit, struct job_cgroup **ret, char why[256],
               struct err *err)
{
	uint64_t limits[JOB_LIMIT_COUNT] = { 0 };
	struct job_cgroup_options o = { .root_fd = t->env.root_fd,
		                        .job_id = "job",
		                        .limit = limits };

	if (limit < JOB_LIMIT_COUNT)
		limits[limit] = 1000;
	*ret = (struct job_cgroup *)(uintptr_t)1;
	return job_cgroup_open(&o, ret, why, 256, err);
}

static void test_cgroup_home__finds_v2_and_v1_of_a_hybrid_machine(void **state)
{
	struct tree t = machine(HYBRID, "4:memory:/batch\n3:cpu,cpuacct:/\n0::/user\n");
	struct cgroup_home *home = calloc(1, sizeof *home);
	struct err err = { 0 };

	assert_int_equal(cgroup_home_find(t.env.root_fd, home, &err), 0);
	assert_string_equal(home->v2.path, "sys/fs/cgroup/unified/user");
	assert_string_equal(home->dirs.of[CGROUP_FAMILY_MEMORY].path, "sys/fs/cgroup/memory/batch");
	assert_string_equal(home->dirs.of[CGROUP_FAMILY_PIDS].path, "sys/fs/cgroup/unified/user");
	free(home);
	tree_remove(&t);
}

static void test_group_open__makes_nothing_where_no_hierarchy_is_mounted(void **state)
{
	struct tree t = machine("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "0::/user\n");
	struct err err = { 0 };
	struct job_cgroup *g;
	char why[256];

	assert_int_equal(ask(&t, JOB_LIMIT_COUNT, &g, why, &err), 0);
	assert_null(g);
	assert_string_equal(why, "our control group is in no hierarchy that is mounted here");
	assert_int_equal(ask(&t, JOB_LIMIT_MEM, &g, why, &err), -ENOTSUP);
	assert_non_null(
		strstr(err.msg, "--mem cannot be enforced here: our control group is in no"));
	tree_remove(&t);
}

static void test_group_open__names_the_controller_that_no_hierarchy_has(void **state)
{
	struct tree t = machine("35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
	                        "4:memory:/batch\n");
	struct err err = { 0 };
	struct job_cgroup *g;
	char why[256];

	assert_int_equal(ask(&t, JOB_LIMIT_CPU, &g, why, &err), -ENOTSUP);
	assert_non_null(
		strstr(err.msg, "--cpu cannot be enforced here: no hierarchy with the cpu"));
	tree_remove(&t);
}

static void test_group_open__survives_a_machine_without_proc(void **state)
{
	struct tree t = tree_new();
	struct err err = { 0 };
	struct job_cgroup *g;
	char why[256];

	assert_int_equal(ask(&t, JOB_LIMIT_COUNT, &g, why, &err), 0);
	assert_null(g);
	assert_string_equal(why, "read '/proc/self/cgroup': No such file or directory");
	assert_int_equal(ask(&t, JOB_LIMIT_CPU, &g, why, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "--cpu cannot be enforced here: read '/proc/self/cgroup'"));
	tree_remove(&t);
}

static void test_group_open__survives_that_its_own_group_is_gone(void **state)
{
	struct tree t = machine(PURE_V2, "0::/session-3.scope (deleted)\n");
	struct err err = { 0 };
	struct job_cgroup *g;
	char why[256];

	assert_int_equal(ask(&t, JOB_LIMIT_COUNT, &g, why, &err), 0);
	assert_null(g);
	assert_non_null(strstr(why, "No such file or directory"));
	tree_remove(&t);
}

/* Here a new directory is empty, as it is on any other file system. */
static void test_group_open__leaves_nothing_behind_where_a_directory_is_no_group(void **state)
{
	struct tree t = machine(PURE_V2, "0::/user\n");
	struct err err = { 0 };
	struct job_cgroup *g;
	char why[256];

	tree_puts(&t, "sys/fs/cgroup/user/cgroup.procs", "1\n");
	assert_int_equal(ask(&t, JOB_LIMIT_COUNT, &g, why, &err), 0);
	assert_null(g);
	assert_string_equal(why,
	                    "join '/sys/fs/cgroup/user/proctor-job': No such file or directory");
	assert_int_equal(faccessat(t.env.root_fd, "sys/fs/cgroup/user/proctor-job", F_OK, 0), -1);
	tree_remove(&t);
}

static void test_group_open__leaves_the_number_of_processes_to_the_rlimit_where_it_binds(
	void **state)
{
	static const uint64_t limits[JOB_LIMIT_COUNT] = { [JOB_LIMIT_PIDS] = 1000 };
	struct tree t = machine(PURE_V2, "0::/user\n");
	struct err err = { 0 };
	struct job_cgroup *g;
	char why[256];

	tree_puts(&t, "proc/self/status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0\n");
	assert_int_equal(ask(&t, JOB_LIMIT_PIDS, &g, why, &err), 0);
	assert_null(g);
	assert_true(job_cgroup_needs_rlimit_pids(g, limits));
	tree_puts(&t, "proc/self/status", "Name:\tx\nUid:\t0\t0\t0\t0\nCapEff:\t0\n");
	assert_int_equal(ask(&t, JOB_LIMIT_PIDS, &g, why, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "--pids cannot be enforced here"));
	tree_remove(&t);
}

static void test_cgroup_home__knows_which_users_the_rlimit_of_processes_binds(void **state)
{
	static const struct {
		const char *status;
		bool binds;
	} cases[] = {
		{ "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n", true },
		{ "Uid:\t1000\t0\t0\t0\nCapEff:\t0000000000000000\n", true },
		{ "Uid:\t0\t0\t0\t0\nCapEff:\t0000000000000000\n", false },
		{ "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000001000000\n", false },
		{ "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000200000\n", false },
		{ "Uid:\t1000\t1000\t1000\t1000\n", false },
		{ "", false },
	};
	struct tree t = tree_new();

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		tree_puts(&t, "proc/self/status", cases[i].status);
		assert_int_equal(cgroup_home_rlimit_binds(t.env.root_fd), cases[i].binds);
	}
	tree_remove(&t);
}

RUN_TESTS(TEST(test_cgroup_home__finds_v2_and_v1_of_a_hybrid_machine),
          TEST(test_group_open__makes_nothing_where_no_hierarchy_is_mounted),
          TEST(test_group_open__names_the_controller_that_no_hierarchy_has),
          TEST(test_group_open__survives_a_machine_without_proc),
          TEST(test_group_open__survives_that_its_own_group_is_gone),
          TEST(test_group_open__leaves_nothing_behind_where_a_directory_is_no_group),
          TEST(test_group_open__leaves_the_number_of_processes_to_the_rlimit_where_it_binds),
          TEST(test_cgroup_home__knows_which_users_the_rlimit_of_processes_binds))
