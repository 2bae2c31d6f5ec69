/* SPDX-License-Identifier: MIT */
/* thread.h - starts threads besides the one that runs the loop, and helper processes. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/defs.h"

/* All signals are blocked in the new thread: the first thread handles them. A stack_bytes of 0 means
 * the default. Returns 0 or -errno. */
int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *self), void *self)
	must_check;

/* Forks a helper process with that name: its pid, 0 in the child, or -errno. Without an exit signal there is no
 * SIGCHLD, and wait() does not see it. */
pid_t thread_fork_helper(const char *name) must_check;
/* Whether that process was forked here as a helper: names prove nothing. `start_ns`: when it began, by the boot clock and rounded
 * down to a tick of `tick_ns`. The latest THREAD_HELPERS_MAX are known. */
#define THREAD_HELPERS_MAX 256
bool thread_is_helper(pid_t pid, uint64_t start_ns, uint64_t tick_ns);
/* Registers a process that was forked by other means, or by a helper. */
void thread_add_helper(pid_t pid);

/* exec's arguments are not const for historical reasons. */
static inline char *const *exec_words(const char *const *words)
{
	char *const *ret;

	memcpy(&ret, &words, sizeof ret);
	return ret;
}
