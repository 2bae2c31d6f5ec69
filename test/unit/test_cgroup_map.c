/* SPDX-License-Identifier: MIT */
#include "kernel/cgroup_map.h"

#include "check.h"

/* Both are too large for the stack of a test under sanitizers, and nobody else uses them. */
static struct cgroup_mounts mounts;
static struct cgroup_dirs dirs;

static bool locate(const char *mountinfo, const char *cgroup)
{
	cgroup_parse_mountinfo(scan_str(mountinfo), &mounts);
	return cgroup_locate(scan_str(cgroup), &mounts, &dirs);
}

static const char *path_of(enum cgroup_family family)
{
	return dirs.of[family].path;
}

#define V2                                                                                         \
	"28 24 0:25 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"

static void test_cgroup_map__finds_a_v2_group(void **state)
{
	(void)state;
	assert_true(locate(V2, "0::/system.slice/cron.service\n"));
	for (unsigned f = 0; f < CGROUP_FAMILIES; f++) {
		assert_string_equal(path_of(f), "sys/fs/cgroup/system.slice/cron.service");
		assert_true(dirs.of[f].is_v2);
		assert_int_equal(dirs.of[f].floor, strlen("sys/fs/cgroup"));
	}
}

static void test_cgroup_map__asks_v1_first_on_a_machine_with_both(void **state)
{
	(void)state;
	assert_true(locate(
		"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
		"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
		"40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
		"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
		"4:memory:/batch/night\n3:cpu,cpuacct:/\n1:name=systemd:/elsewhere\n0::/v2\n"));
	assert_string_equal(path_of(CGROUP_FAMILY_MEMORY), "sys/fs/cgroup/memory/batch/night");
	assert_string_equal(path_of(CGROUP_FAMILY_CPU), "sys/fs/cgroup/cpu,cpuacct");
	assert_string_equal(path_of(CGROUP_FAMILY_CPUACCT), "sys/fs/cgroup/cpu,cpuacct");
	assert_false(dirs.of[CGROUP_FAMILY_MEMORY].is_v2);
	assert_string_equal(path_of(CGROUP_FAMILY_PIDS),
	                    "sys/fs/cgroup/unified/v2"); /* not managed by v1 here */
	assert_true(dirs.of[CGROUP_FAMILY_PIDS].is_v2);
}

static void test_cgroup_map__finds_the_v2_group_beside_v1(void **state)
{
	struct cgroup_dir v2;

	(void)state;
	cgroup_parse_mountinfo(
		scan_str(
			"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
			"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"),
		&mounts);
	assert_true(cgroup_locate_v2(scan_str("4:memory:/batch\n0::/v2/a\n"), &mounts, &v2));
	assert_string_equal(v2.path, "sys/fs/cgroup/unified/v2/a");
	assert_true(v2.is_v2);
	assert_false(cgroup_locate_v2(scan_str("4:memory:/batch\n"), &mounts, &v2));
	assert_string_equal(v2.path, "");
	assert_false(cgroup_locate_v2(scan_str("0::/../outside\n"), &mounts, &v2));
}

static void test_cgroup_map__understands_a_container_that_sees_only_its_own_group(void **state)
{
	(void)state;
	assert_true(locate(
		"35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
		"4:memory:/docker/abc/sub\n"));
	assert_string_equal(path_of(CGROUP_FAMILY_MEMORY), "sys/fs/cgroup/memory/sub");
	assert_true(locate(
		"35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
		"4:memory:/docker/abc\n"));
	assert_string_equal(path_of(CGROUP_FAMILY_MEMORY), "sys/fs/cgroup/memory");
	/* A sibling with a longer name is not below it. */
	assert_false(locate(
		"35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
		"4:memory:/docker/abcdef\n"));
}

static void test_cgroup_map__separates_at_the_first_two_colons_only(void **state)
{
	(void)state;
	assert_true(locate(V2, "0::/a:b/c::d (deleted)\n"));
	assert_string_equal(path_of(CGROUP_FAMILY_MEMORY), "sys/fs/cgroup/a:b/c::d (deleted)");
}

static void test_cgroup_map__refuses_a_way_out_of_the_hierarchy(void **state)
{
	(void)state;
	assert_false(locate(V2, "0::/../../etc\n"));
	assert_false(locate(V2, "0::/a/..\n"));
	assert_true(locate(V2, "0::/...a/b..\n"));
	assert_string_equal(path_of(CGROUP_FAMILY_PIDS), "sys/fs/cgroup/...a/b..");
}

static void test_cgroup_map__reads_escapes_in_mount_points(void **state)
{
	(void)state;
	assert_true(
		locate("28 24 0:25 / /mnt/with\\040blank\\134x rw - cgroup2 none rw\n", "0::/g\n"));
	assert_string_equal(path_of(CGROUP_FAMILY_CPU), "mnt/with blank\\x/g");
}

static void test_cgroup_map__survives_broken_texts(void **state)
{
	static const char *const broken[] = { "",
		                              "\n\n",
		                              "28",
		                              "28 24 0:25 / /x",
		                              "28 24 0:25 / /x rw -",
		                              "28 24 0:25 / /x rw - cgroup2",
		                              "28 24 0:25 / relative rw - cgroup2 none rw\n",
		                              "28 24 0:25 / /x rw - cgroup none rw\n" };
	char *deep = calloc(1, 2 * PATH_MAX);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++)
		assert_false(locate(broken[i], "0::/\n"));
	assert_false(locate(V2, ""));
	assert_false(locate(V2, "0:"));
	assert_false(locate(V2, "junk\n\xff\xff"));
	memcpy(deep, "0::/", 4);
	memset(deep + 4, 'a', PATH_MAX);
	assert_false(locate(V2, deep)); /* longer than any path */
	free(deep);
}

RUN_TESTS(TEST(test_cgroup_map__finds_a_v2_group),
          TEST(test_cgroup_map__asks_v1_first_on_a_machine_with_both),
          TEST(test_cgroup_map__finds_the_v2_group_beside_v1),
          TEST(test_cgroup_map__understands_a_container_that_sees_only_its_own_group),
          TEST(test_cgroup_map__separates_at_the_first_two_colons_only),
          TEST(test_cgroup_map__refuses_a_way_out_of_the_hierarchy),
          TEST(test_cgroup_map__reads_escapes_in_mount_points),
          TEST(test_cgroup_map__survives_broken_texts))
