/* SPDX-License-Identifier: MIT */
#include "trace/strace.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "base/helper_process.h"
#include "check.h"
#include "trace/strace_keeper.h"

static void test_strace_message__distinguishes_the_process_from_its_children(void **state)
{
	assert_true(strace_message_is_attached(scan_str("strace: Process 4711 attached"), 4711));
	assert_true(strace_message_is_attached(
		scan_str("strace: Process 4711 attached with 3 threads"), 4711));
	assert_false(strace_message_is_attached(scan_str("strace: Process 4712 attached"), 4711));
	assert_false(strace_message_is_attached(scan_str("strace: Process 4711 detached"), 4711));
	assert_false(strace_message_is_attached(scan_str("strace: Process "), 4711));
	assert_true(strace_message_is_notice(scan_str("strace: Process 4712 detached")));
	assert_false(strace_message_is_notice(
		scan_str("strace: attach: ptrace(PTRACE_SEIZE, 2): Operation not permitted")));
	assert_false(strace_message_is_notice(scan_str("")));
}

static void write_program(const char *dir, mode_t mode)
{
	char path[SCRATCH_DIR_MAX + 16];
	int fd;

	snprintf(path, sizeof path, "%s/strace", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(chmod(path, mode), 0);
}

static void test_strace_find__takes_the_first_program_in_an_absolute_directory(void **state)
{
	char dir[SCRATCH_DIR_MAX], dirs[4 * SCRATCH_DIR_MAX], wanted[SCRATCH_DIR_MAX + 16],
		found[PATH_MAX];
	struct err err;

	assert_true(scratch_dir(dir));
	write_program(dir, 0755);
	snprintf(wanted, sizeof wanted, "%s/strace", dir);
	snprintf(dirs, sizeof dirs, ":.:/nonexistent:%s:/usr/bin", dir);
	assert_int_equal(strace_find(dirs, found, &err), 0);
	assert_string_equal(found, wanted);
	assert_int_equal(chmod(wanted, 0644), 0);
	assert_int_equal(strace_find(dir, found, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "not installed"));
	assert_int_equal(strace_find("", found, &err), -ENOENT);
	unlink(wanted);
	rmdir(dir);
}

/* Any program will do: its pid is known before it runs. */
static void test_strace_read__makes_what_the_keeper_forked_a_helper_of_ours(void **state)
{
	const struct strace_options options = { .program = "/bin/true",
		                                .pid = getpid(),
		                                .out_fd = STDERR_FILENO };
	struct strace_news news = { 0 };
	struct strace *s;
	struct err err;

	assert_int_equal(strace_start(&options, &s, &err), 0);
	for (int i = 0; i < 500 && !news.strace_pid; i++)
		if (!strace_read(s, &news))
			usleep(10000);
	assert_true(news.strace_pid > 0);
	assert_true(helper_process_is_ours(news.strace_pid, clock_boot_ns() - NS_PER_S, NS_PER_S));
	assert_false(helper_process_is_ours(news.strace_pid, clock_boot_ns() + NS_PER_S, NS_PER_S));
	strace_stop(s);
	for (int i = 0; i < 500 && strace_fd(s) >= 0; i++)
		if (!strace_read(s, &news))
			usleep(10000);
	assert_int_equal(strace_fd(s), -1);
	strace_free(s);
}

RUN_TESTS(TEST(test_strace_message__distinguishes_the_process_from_its_children),
          TEST(test_strace_find__takes_the_first_program_in_an_absolute_directory),
          TEST(test_strace_read__makes_what_the_keeper_forked_a_helper_of_ours))
