/* SPDX-License-Identifier: MIT */
/* The disks that this process writes to, on the real kernel. */
#include "kernel/written_disks.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/vec.h"
#include "check.h"

#define MIB ((size_t)1 << 20)

static struct written_disks *search(int root_fd)
{
	const struct written_disks_process self = { getpid(), 5 };
	struct written_disks *w = written_disks_ask(root_fd, &self, 1);

	assert_non_null(w);
	while (!written_disks_is_done(w))
		sched_yield();
	return w;
}

/* The bytes of our files on that device; -1: it is not among them. */
static int64_t own_bytes(int root_fd, dev_t device, const char *path)
{
	struct written_disks *w = search(root_fd);
	int64_t bytes = -1;

	vec_each(written_disks_found(w), use) {
		assert_int_equal(use->job, 5);
		assert_true(use->total_bytes && use->free_bytes <= use->total_bytes);
		if (use->device != device)
			continue;
		bytes = (int64_t)use->own_bytes;
		if (path)
			assert_non_null(strstr(path, use->path));
	}
	written_disks_free(w);
	return bytes;
}

static void test_written_disks__are_those_of_files_that_are_open_for_writing(void **state)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char dir[SCRATCH_DIR_MAX], path[SCRATCH_DIR_MAX + 16];
	static char block[MIB];
	struct stat st;
	int64_t before;
	int fd;

	assert_true(scratch_dir(dir));
	snprintf(path, sizeof path, "%s/out", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	memset(block, 1, sizeof block);
	assert_int_equal(io_write_all(fd, block, sizeof block), 0);
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	before = own_bytes(root_fd, st.st_dev, NULL);
	assert_true(before >= (int64_t)MIB);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(own_bytes(root_fd, st.st_dev, NULL) < before);
	close(fd);
	unlink(path);
	rmdir(dir);
}

static void test_written_disks__leave_out_what_has_no_room_of_its_own(void **state)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(closep) int memory_fd = memfd_create("memory", MFD_CLOEXEC);
	cleanup(closep) int device_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct stat st;

	assert_int_equal(fstat(memory_fd, &st), 0);
	assert_int_equal(own_bytes(root_fd, st.st_dev, NULL), -1);
	assert_int_equal(fstat(device_fd, &st), 0);
}

static void test_written_disks__of_a_process_that_is_gone_are_none(void **state)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct written_disks_process gone = { 0x3fffff, 5 };
	struct written_disks *w = written_disks_ask(root_fd, &gone, 1);

	while (!written_disks_is_done(w))
		sched_yield();
	assert_int_equal(written_disks_found(w)->len, 0);
	written_disks_free(w);
}

RUN_TESTS(TEST(test_written_disks__are_those_of_files_that_are_open_for_writing),
          TEST(test_written_disks__leave_out_what_has_no_room_of_its_own),
          TEST(test_written_disks__of_a_process_that_is_gone_are_none))
