/* SPDX-License-Identifier: MIT */
/* launch_helper.h - two small helper processes in our process group: with every signal blocked,
 * without open files, invisible to wait() and SIGCHLD, and gone when we are.
 *
 * The group-signal detector distinguishes a signal to our whole process group from one to us alone.
 * Both have the same siginfo, but signals that are pending for the detector were sent to the group.
 *
 * The waker wakes us when the stopped command continues. While we are stopped together with the
 * command, another process (a supervisor, cpulimit) may continue or kill only the command, and a
 * stopped parent does not notice. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct launch_helper {
	pid_t pid;   /* 0: none */
	int pipe_fd; /* when it is closed, the helper reads end of file on fd 0 */
};

int launch_helper_start_detector(struct launch_helper *h, struct err *err) must_check;
/* Whether the signal went to the group. A pending signal hides further ones of the same number, so
 * the detector must be renewed after true is returned. False if there is no detector. */
bool launch_helper_detects(const struct launch_helper *h, int signo);
/* Replaces the detector by a new one. Returns the signals that were pending for the old one and not
 * for the new: those of them that are pending for us, too, went to the group. */
uint64_t launch_helper_renew_detector(struct launch_helper *h);
/* The blocked signals that are pending for that process. */
uint64_t launch_helper_pending(pid_t pid);

static inline uint64_t launch_helper_signal_bit(int signo)
{
	return UINT64_C(1) << (signo - 1);
}

/* Call it before we stop. It wakes us when the command continues, or at the deadline (monotonic; 0:
 * none). If it cannot be started, only a SIGCONT to us continues us. */
void launch_helper_start_waker(struct launch_helper *h, pid_t stopped, uint64_t deadline_ns);

void launch_helper_stop(struct launch_helper *h);
