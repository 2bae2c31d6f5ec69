/* SPDX-License-Identifier: MIT */
#include "job/launch/continue_detector.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/defs.h"
#include "model/own_program.h"

#define POLL_MIN_MS 5
#define POLL_MAX_MS 100

/* 4711 (a) b) T 4710 …: the name may hold anything, so the state is found from its end. A tracer
 * that has it stopped is somebody else's business. */
static bool is_stopped(int stat_fd)
{
	char text[512];
	ssize_t n = pread(stat_fd, text, sizeof text, 0);
	const char *paren = n > 0 ? memrchr(text, ')', (size_t)n) : NULL;

	return paren && text + n - paren > 2 && (paren[2] == 'T' || paren[2] == 't');
}

struct anomaly_stage {
	pid_t parent, stopped;
	uint64_t deadline_ns; /* monotonic; 0: none */
};

static bool is_late(uint64_t deadline_ns)
{
	return deadline_ns && clock_mono_ns() >= deadline_ns;
}

/* A SIGCONT that comes before the stop is undone by it: so it is sent until we are heard. */
static void watch(void *arg)
{
	const struct anomaly_stage *w = arg;
	struct pollfd over = { .fd = 0 };
	char path[40];
	int stat_fd;

	snprintf(path, sizeof path, "/proc/%d/stat", w->stopped);
	stat_fd = open(path, O_RDONLY | O_CLOEXEC);
	for (int ms = POLL_MIN_MS; poll(&over, 1, ms) == 0; ms = MIN(ms * 2, POLL_MAX_MS))
		if (!is_stopped(stat_fd) || is_late(w->deadline_ns))
			kill(w->parent, SIGCONT);
}

void continue_detector_start(struct launch_helper *w, pid_t stopped, uint64_t deadline_ns)
{
	struct anomaly_stage what = { .parent = getpid(),
		                      .stopped = stopped,
		                      .deadline_ns = deadline_ns };
	struct err err;

	*w = (struct launch_helper){ 0 };
	(void)!launch_helper_start(w, OURS_WAKER, watch, &what, &err);
}
