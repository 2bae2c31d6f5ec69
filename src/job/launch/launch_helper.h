/* SPDX-License-Identifier: MIT */
/* launch_helper.h - a small process of ours beside the command, in our process group: with every signal
 * blocked, without files, unseen by wait() and SIGCHLD handling, and gone when we are. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct launch_helper {
	pid_t pid;   /* 0: there is none */
	int pipe_fd; /* closed, its fd 0 reads the end */
};

/* `live` is what it does until fd 0 ends; in a process with threads it must be
 * async-signal-safe. */
int launch_helper_start(struct launch_helper *h, const char *name, void (*live)(void *arg),
                        void *arg, struct err *err) must_check;
void launch_helper_stop(struct launch_helper *h);
