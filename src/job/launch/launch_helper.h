/* SPDX-License-Identifier: MIT */
/* launch_helper.h - a small helper process in our process group: with every signal blocked, without
 * open files, invisible to wait() and SIGCHLD, and gone when we are. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct launch_helper {
	pid_t pid;   /* 0: none */
	int pipe_fd; /* when it is closed, the helper reads end of file on fd 0 */
};

/* `live` runs until end of file on fd 0; in a process with threads it must be async-signal-safe. */
int launch_helper_start(struct launch_helper *h, const char *name, void (*live)(void *arg),
                        void *arg, struct err *err) must_check;
void launch_helper_stop(struct launch_helper *h);
