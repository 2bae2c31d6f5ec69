/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "check.h"

struct place {
	char dir[SCRATCH_DIR_MAX];
	int fd;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof *p);

	if (!p)
		return -1;
	*state = p;
	if (!scratch_dir(p->dir))
		return -1;
	p->fd = open(p->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return p->fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	static const char *const made[] = { "file", "a/b/c", "a/b", "a" };
	struct place *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		if (unlinkat(p->fd, made[i], 0) < 0)
			unlinkat(p->fd, made[i], AT_REMOVEDIR);
	close(p->fd);
	rmdir(p->dir);
	free(p);
	return 0;
}

static void put_file(const struct place *p, size_t bytes)
{
	int fd = openat(p->fd, "file", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *text = calloc(1, bytes + 1);

	assert_non_null(text);
	memset(text, 'x', bytes);
	assert_int_equal(io_write_all(fd, text, bytes), 0);
	free(text);
	close(fd);
}

static void test_io_load_fd__reads_the_whole_file_whatever_its_size(void **state)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 8192, 100000 };
	struct place *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct buf b = { 0 };
		struct err err;

		put_file(p, sizes[i]);
		assert_int_equal(load_file(p->fd, "file", &b, &err), 0);
		assert_int_equal(b.len, sizes[i]);
		buf_done(&b);
	}
}

static void test_io_load_fd__reads_up_to_the_ceiling_and_refuses_one_byte_more(void **state)
{
	struct place *p = *state;
	struct buf b = { .max = 5000 };
	struct err err = { 0 };

	put_file(p, 5000);
	assert_int_equal(load_file(p->fd, "file", &b, &err), 0);
	assert_int_equal(b.len, 5000);
	buf_reset(&b);
	put_file(p, 5001);
	assert_int_equal(load_file(p->fd, "file", &b, &err), -EFBIG);
	buf_done(&b);
}

static void test_io_read_at__reports_a_missing_file(void **state)
{
	struct place *p = *state;

	assert_int_equal(io_read_at(p->fd, "missing", NULL, 0), -ENOENT);
}

static void test_io_replace__keeps_the_mode_of_the_file(void **state)
{
	struct place *p = *state;
	struct err err;
	struct stat st;
	char text[8];

	put_file(p, 5000);
	assert_int_equal(fchmodat(p->fd, "file", 0640, 0), 0);
	assert_int_equal(io_replace(p->fd, "file", "new", 3, false, &err), 0);
	assert_int_equal(io_read_at(p->fd, "file", text, sizeof text), 3);
	assert_memory_equal(text, "new", 3);
	assert_int_equal(fstatat(p->fd, "file", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
}

static void test_io_replace__never_gives_the_new_file_to_another_user(void **state)
{
	struct place *p = *state;
	struct err err;
	struct stat st;

	if (geteuid() != 0)
		skip(); /* nobody else can give a file away */
	put_file(p, 10);
	assert_int_equal(fchmodat(p->fd, "file", 0666, 0), 0);
	assert_int_equal(fchownat(p->fd, "file", 65534, 65534, 0), 0);
	assert_int_equal(io_replace(p->fd, "file", "new", 3, false, &err), 0);
	assert_int_equal(fstatat(p->fd, "file", &st, 0), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_gid, 0);
	assert_int_equal(st.st_mode & 022, 0);
}

static void put_named(struct place *p, const char *name)
{
	int fd = openat(p->fd, name, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void test_io_remove_abandoned__removes_what_killed_writers_left_and_no_more(void **state)
{
	struct place *p = *state;
	char dead[64], ours[64];
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	snprintf(dead, sizeof dead, ".proctor-%d-0123456789abcdef.new", (int)pid);
	snprintf(ours, sizeof ours, ".proctor-%d-0123456789abcdef.new", (int)getpid());
	put_named(p, dead);
	put_named(p, ours);
	put_named(p, ".proctor-.new");
	put_named(p, ".proctor-4194304x.new");
	io_remove_abandoned(p->fd);
	assert_int_equal(faccessat(p->fd, dead, F_OK, 0), -1);
	assert_int_equal(unlinkat(p->fd, ours, 0), 0);
	assert_int_equal(unlinkat(p->fd, ".proctor-.new", 0), 0);
	assert_int_equal(unlinkat(p->fd, ".proctor-4194304x.new", 0), 0);
}

#define WRITERS 4
#define TURNS 300

/* Its exit status: 0 if each of its turns replaced the file. */
static int replace_often(int dir_fd, char letter)
{
	char text[4000];
	struct err err;

	memset(text, letter, sizeof text);
	for (int i = 0; i < TURNS; i++)
		if (io_replace(dir_fd, "file", text, sizeof text, false, &err) < 0)
			return 1;
	return 0;
}

static void test_io_replace__lets_several_writers_replace_one_file_at_once(void **state)
{
	struct place *p = *state;
	pid_t writers[WRITERS];
	char text[5000];

	for (int i = 0; i < WRITERS; i++) {
		writers[i] = fork();
		if (writers[i] == 0)
			_exit(replace_often(p->fd, (char)('a' + i)));
		assert_true(writers[i] > 0);
	}
	for (int i = 0; i < WRITERS; i++) {
		int status = -1;

		assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(io_read_at(p->fd, "file", text, sizeof text), 4000);
	for (size_t i = 1; i < 4000; i++)
		assert_int_equal(text[i], text[0]);
	assert_int_equal(unlinkat(p->fd, "file", 0), 0);
	assert_int_equal(rmdir(p->dir), 0); /* nothing else is left */
}

static void test_io_mkdir_all__creates_missing_parts_and_is_repeatable(void **state)
{
	struct place *p = *state;
	char path[128];
	struct stat st;
	struct err err;

	snprintf(path, sizeof path, "%s/a/b/c", p->dir);
	assert_int_equal(io_mkdir_all(path, 0700, &err), 0);
	assert_int_equal(io_mkdir_all(path, 0700, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void test_io_mkdir_all__refuses_a_file_in_the_way(void **state)
{
	struct place *p = *state;
	struct err err = { 0 };
	char path[128];

	put_file(p, 1);
	snprintf(path, sizeof path, "%s/file", p->dir);
	assert_int_equal(io_mkdir_all(path, 0700, &err), -ENOTDIR);
	assert_non_null(strstr(err.msg, path));
	snprintf(path, sizeof path, "%s/file/below", p->dir);
	assert_int_equal(io_mkdir_all(path, 0700, &err), -ENOTDIR);
}

static void fill_pipe(int fd)
{
	char block[4096] = { 0 };

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (write(fd, block, sizeof block) > 0)
		;
	fcntl(fd, F_SETFL, 0);
}

static void test_io_write_timeout__gives_up_on_a_reader_that_does_not_read(void **state)
{
	char block[10000] = { 0 };
	uint64_t began_ns;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	fill_pipe(ends[1]);
	began_ns = clock_mono_ns();
	assert_int_equal(io_write_timeout(ends[1], "x", 1, 50 * NS_PER_MS), -EAGAIN);
	assert_true(clock_mono_ns() - began_ns >= 50 * NS_PER_MS);
	assert_int_equal(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
	/* Room for one piece, not for all. */
	assert_int_equal(read(ends[0], block, 4096), 4096);
	assert_int_equal(io_write_timeout(ends[1], block, sizeof block, 50 * NS_PER_MS), -EAGAIN);
	close(ends[0]);
	close(ends[1]);
}

static void test_io_write_timeout__writes_all_to_files_and_pipes_with_room(void **state)
{
	struct place *p = *state;
	char block[10000] = "begin", back[10000];
	int ends[2], fd;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(io_write_timeout(ends[1], block, sizeof block, NS_PER_S), 0);
	assert_int_equal(read(ends[0], back, sizeof back), sizeof back);
	assert_memory_equal(block, back, sizeof block);
	close(ends[0]);
	close(ends[1]);
	put_file(p, 10);
	fd = openat(p->fd, "file", O_RDWR | O_APPEND | O_CLOEXEC);
	assert_int_equal(io_write_timeout(fd, block, sizeof block, NS_PER_S), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), sizeof block + 10);
	close(fd);
}

static void test_err__adds_context_and_cuts_long_messages(void **state)
{
	struct err err;
	char big[400];

	(void)state;
	assert_int_equal(err_set(&err, ENOENT, "open '%s'", "x"), -ENOENT);
	assert_int_equal(err_wrap(&err, "start"), -ENOENT);
	assert_string_equal(err.msg, "start: open 'x'");
	memset(big, 'y', sizeof big);
	big[sizeof big - 1] = '\0';
	err_wrap(&err, "%s", big);
	assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
}

static void test_clock_format_utc__writes_milliseconds_and_a_z(void **state)
{
	char text[32];

	(void)state;
	clock_format_utc(UINT64_C(1794751387412999999), text, sizeof text);
	assert_string_equal(text, "2026-11-15T14:03:07.412Z");
	clock_format_utc(0, text, sizeof text);
	assert_string_equal(text, "1970-01-01T00:00:00.000Z");
	clock_format_utc(UINT64_MAX, text, sizeof text);
	assert_string_equal(text, "2554-07-21T23:34:33.709Z");
}

#define IO_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(IO_TEST(test_io_load_fd__reads_the_whole_file_whatever_its_size),
          IO_TEST(test_io_load_fd__reads_up_to_the_ceiling_and_refuses_one_byte_more),
          IO_TEST(test_io_read_at__reports_a_missing_file),
          IO_TEST(test_io_replace__keeps_the_mode_of_the_file),
          IO_TEST(test_io_replace__never_gives_the_new_file_to_another_user),
          IO_TEST(test_io_remove_abandoned__removes_what_killed_writers_left_and_no_more),
          IO_TEST(test_io_replace__lets_several_writers_replace_one_file_at_once),
          IO_TEST(test_io_mkdir_all__creates_missing_parts_and_is_repeatable),
          IO_TEST(test_io_mkdir_all__refuses_a_file_in_the_way),
          TEST(test_io_write_timeout__gives_up_on_a_reader_that_does_not_read),
          IO_TEST(test_io_write_timeout__writes_all_to_files_and_pipes_with_room),
          TEST(test_err__adds_context_and_cuts_long_messages),
          TEST(test_clock_format_utc__writes_milliseconds_and_a_z))
