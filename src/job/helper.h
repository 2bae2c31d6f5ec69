/* SPDX-License-Identifier: MIT */
/* helper.h - a small process of ours beside the command, in our process group: with every signal
 * blocked, without files, unseen by wait() and SIGCHLD handling, and gone when we are. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct helper {
	pid_t pid;   /* 0: there is none */
	int pipe_fd; /* closed, its fd 0 reads the end */
};

/* `live` is what it does until fd 0 ends; in a process with threads it must be
 * async-signal-safe. */
int helper_start(struct helper *h, const char *name, void (*live)(void *arg), void *arg,
                 struct err *err) must_check;
void helper_stop(struct helper *h);
