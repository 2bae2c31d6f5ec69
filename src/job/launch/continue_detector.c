/* SPDX-License-Identifier: MIT */
#include "job/launch/continue_detector.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/defs.h"
#include "kernel/process_peek.h"
#include "model/own_program.h"

#define POLL_MIN_MS 5
#define POLL_MAX_MS 100

struct stopped_command {
	pid_t parent, stopped;
	uint64_t deadline_ns; /* monotonic; 0: none */
};

static bool is_late(uint64_t deadline_ns)
{
	return deadline_ns && clock_mono_ns() >= deadline_ns;
}

/* A SIGCONT that arrives before the stop has no effect, so it is sent repeatedly. */
static void watch(void *arg)
{
	const struct stopped_command *w = arg;
	struct pollfd over = { .fd = 0 };
	int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (int ms = POLL_MIN_MS; poll(&over, 1, ms) == 0; ms = MIN(ms * 2, POLL_MAX_MS))
		if (!process_peek_is_stopped(root_fd, w->stopped) || is_late(w->deadline_ns))
			kill(w->parent, SIGCONT);
}

void continue_detector_start(struct launch_helper *w, pid_t stopped, uint64_t deadline_ns)
{
	struct stopped_command what = { .parent = getpid(),
		                        .stopped = stopped,
		                        .deadline_ns = deadline_ns };
	struct err err;

	*w = (struct launch_helper){ 0 };
	(void)!launch_helper_start(w, OURS_WAKER, watch, &what, &err);
}
