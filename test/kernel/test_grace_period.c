/* SPDX-License-Identifier: MIT */
#include "probe/bpf/grace_period.h"

#include <dirent.h>

#include "base/io.h"
#include "kernel_kit.h"

static size_t count_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void hurry(void)
{
	struct grace_period g = { 0 };
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	grace_period_begin(&g, root);
	grace_period_await(&g);
	grace_period_end(&g);
	assert_false(g.is_running);
	close(root);
}

static void load_mounts(struct buf *to)
{
	struct err err = { 0 };

	assert_int_equal(load_file(AT_FDCWD, "/proc/self/mountinfo", to, &err), 0);
}

static void test_grace_period__leaves_no_mount_and_no_file_behind(void **state)
{
	struct buf before = { 0 }, after = { 0 };
	size_t files = count_files();

	(void)state;
	load_mounts(&before);
	for (int i = 0; i < 20; i++)
		hurry();
	load_mounts(&after);
	assert_int_equal(count_files(), files);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.at, after.at, before.len);
	buf_done(&before);
	buf_done(&after);
}

static int hurry_as_nobody(void *arg)
{
	(void)arg;
	if (!drop_to(CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON)))
		return 99;
	hurry();
	return 0;
}

static void test_grace_period__does_nothing_without_the_right_to_mount(void **state)
{
	(void)state;
	assert_int_equal(reap(child(hurry_as_nobody, NULL)), 0);
}

RUN_LIVE_TESTS(&probe_lifecycle_bpf,
               TEST(test_grace_period__leaves_no_mount_and_no_file_behind),
               TEST(test_grace_period__does_nothing_without_the_right_to_mount))
