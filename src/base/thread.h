/* SPDX-License-Identifier: MIT */
/* thread.h - starts threads besides the one that runs the loop, and helper processes. */
#pragma once

#include <pthread.h>
#include <string.h>
#include <sys/types.h>

#include "base/defs.h"

/* All signals are blocked in the new thread: the first thread handles them. A stack_bytes of 0 means
 * the default. Returns 0 or -errno. */
int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *self), void *self)
	must_check;

/* Forks a helper process: its pid, 0 in the child, or -errno. It is born with that name, so that
 * every observer of its birth recognises it; without an exit signal there is no SIGCHLD, and wait()
 * does not see it. */
pid_t thread_fork_helper(const char *name) must_check;

/* exec's arguments are not const for historical reasons. */
static inline char *const *exec_words(const char *const *words)
{
	char *const *ret;

	memcpy(&ret, &words, sizeof ret);
	return ret;
}
