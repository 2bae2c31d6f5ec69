/* SPDX-License-Identifier: MIT */
/* exec_unwatched.h - the way back: when watching fails before it began, this process becomes the command,
 * as it would have been without us. */
#pragma once

#include <signal.h>

#include "base/err.h"

/* What we were given, and have changed since. */
struct exec_unwatched {
	sigset_t mask;
	struct sigaction pipe, child;
	int subreaper;
};

/* To be called before anything of it is changed; `sigpipe` is what we ignore SIGPIPE instead of. */
void exec_unwatched_keep(struct exec_unwatched *p, void (*sigpipe)(int));
/* Returns only when there is no such program (-ENOENT), or it cannot be run. */
int exec_unwatched(const struct exec_unwatched *p, char *const *argv, struct err *err) must_check;
