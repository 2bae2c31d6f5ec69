/* SPDX-License-Identifier: MIT */
#include "job/launch/group_signal_detector.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/defs.h"
#include "kernel/process_peek.h"
#include "model/own_program.h"

/* The kernel signals the members of a group one after the other; we may be first. */
#define TRIES 3
#define BETWEEN_TRIES_NS 1000000

static void stand_there(void *arg)
{
	char byte;

	(void)arg;
	while (read(0, &byte, 1) < 0)
		;
}

int group_signal_detector_start(struct launch_helper *w, struct err *err)
{
	return launch_helper_start(w, OURS_WITNESS, stand_there, NULL, err);
}

uint64_t group_signal_detector_pending(pid_t pid)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return process_peek_pending_signals(root_fd, pid);
}

/* The old one is read first: signals in between are pending for the new one. Without a new one, the
 * next signal is forwarded: better twice than never. */
uint64_t group_signal_detector_renew(struct launch_helper *w)
{
	struct launch_helper old = *w;
	uint64_t seen, by_new;
	struct err err;

	w->pid = 0;
	(void)!group_signal_detector_start(w, &err);
	seen = old.pid > 0 ? group_signal_detector_pending(old.pid) : 0;
	by_new = w->pid > 0 ? group_signal_detector_pending(w->pid) : 0;
	launch_helper_stop(&old);
	return seen & ~by_new;
}

bool group_signal_detector_saw(const struct launch_helper *w, int signo)
{
	struct timespec a_moment = { .tv_nsec = BETWEEN_TRIES_NS };
	bool saw = false;

	for (int i = 0; w->pid > 0 && !saw && i < TRIES; i++) {
		if (i > 0)
			nanosleep(&a_moment, NULL);
		saw = group_signal_detector_pending(w->pid) & group_signal_detector_bit(signo);
	}
	return saw;
}
