/* SPDX-License-Identifier: MIT */
/* threads.h - what the threads of a process do, as /proc tells, and waiting for it. A test that
 * only sleeps for a while finds a busy machine not ready. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

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

/* Until one is in this state and all are in one of those, for ten looks in a row. */
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
