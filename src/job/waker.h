/* SPDX-License-Identifier: MIT */
/* waker.h - wakes us when the command goes on. While we stand still beside a stopped command,
 * somebody may continue it alone (a supervisor, cpulimit), or kill it, and the kernel tells that
 * to a parent that does not run. So a small process of ours looks. */
#pragma once

#include <sys/types.h>

struct waker {
	pid_t pid; /* 0: there is none */
	int pipe_fd;
};

/* To be called before we stop; it dies with us. Without one (no more processes) we wait for a
 * SIGCONT of our own. */
void waker_start(struct waker *w, pid_t stopped);
void waker_stop(struct waker *w);
