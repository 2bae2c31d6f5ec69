/* SPDX-License-Identifier: MIT */
/* check.h - cmocka with the headers it forgets to include, the shortest main, comparison with the
 * files of test/golden, scratch directories, and waiting for threads. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "load_file.h"

/* Most tests need no state. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define RUN_TESTS(...)                                                                             \
	int main(void)                                                                             \
	{                                                                                          \
		const struct CMUnitTest tests[] = { __VA_ARGS__ };                                 \
		return cmocka_run_group_tests(tests, NULL, NULL);                                  \
	}
#define TEST(name) cmocka_unit_test(name)

/* ---- scratch directories ------------------------------------------------------------------- */

#define SCRATCH_DIR_MAX 64

/* A new directory, which the test removes. run-tests names a place and removes that, with all that a
 * test which failed or was killed leaves behind. */
static inline bool scratch_dir(char ret[SCRATCH_DIR_MAX])
{
	const char *place = getenv("TEST_SCRATCH_DIR");

	snprintf(ret, SCRATCH_DIR_MAX, "%s/proctor-test-XXXXXX", place ? place : "/tmp");
	return mkdtemp(ret);
}

/* ---- golden files --------------------------------------------------------------------------- */

static inline void assert_golden(const char *name, const struct buf *text)
{
	const char *source = getenv("PROCTOR_SOURCE_DIR"), *mode = getenv("PROCTOR_GOLDEN");
	cleanup(freep) char *path = xasprintf("%s/test/golden/%s", source ? source : ".", name);
	struct buf wanted = { 0 };
	struct err err = { 0 };

	if (mode && strcmp(mode, "write") == 0) {
		cleanup(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

		assert_int_equal(io_write_all(fd, text->at, text->len), 0);
		return;
	}
	if (load_file(AT_FDCWD, path, &wanted, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(text->at ? text->at : "", wanted.at ? wanted.at : "");
	buf_done(&wanted);
}

/* ---- threads -------------------------------------------------------------------------------- */

#define THREADS_MAX 63
#define THREADS_PATIENCE_NS (20 * NS_PER_S)

static inline char thread_state(pid_t pid, const char *tid)
{
	char path[64], text[512] = "", *paren;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/task/%.16s/stat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	paren = n > 0 ? strrchr(text, ')') : NULL;
	return paren && paren[1] ? paren[2] : '\0';
}

/* A letter for each: R, S, D, Z … */
static inline void thread_states(pid_t pid, char ret[static THREADS_MAX + 1])
{
	char path[64];
	struct dirent *e;
	size_t n = 0;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && n < THREADS_MAX && (e = readdir(tasks))) {
		char state = e->d_name[0] == '.' ? '\0' : thread_state(pid, e->d_name);

		if (state)
			ret[n++] = state;
	}
	ret[n] = '\0';
	if (tasks)
		closedir(tasks);
}

/* Until one is in this state and all are in one of those, for ten checks in a row. */
static inline bool threads_settle(pid_t pid, char one, const char *all)
{
	uint64_t end_ns = clock_mono_ns() + THREADS_PATIENCE_NS;
	int in_row = 0;

	while (in_row < 10 && clock_mono_ns() < end_ns) {
		char states[THREADS_MAX + 1];

		thread_states(pid, states);
		in_row = strchr(states, one) && !states[strspn(states, all)] ? in_row + 1 : 0;
		usleep(2000);
	}
	return in_row == 10;
}
