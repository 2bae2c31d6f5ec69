/* SPDX-License-Identifier: MIT */
/* exec_unwatched.h - the fallback: if recording fails before it started, this process becomes the
 * command, as it would have been without us. */
#pragma once

#include <signal.h>

#include "base/err.h"

/* The inherited state that we have changed. */
struct exec_unwatched {
	sigset_t mask;
	struct sigaction pipe, child;
	int subreaper;
};

/* Call it before that state is changed; `sigpipe` is the inherited disposition of SIGPIPE. */
void exec_unwatched_keep(struct exec_unwatched *p, void (*sigpipe)(int));
/* Returns only if there is no such program (-ENOENT), or it cannot be run. */
int exec_unwatched(const struct exec_unwatched *p, char *const *argv, struct err *err) must_check;
