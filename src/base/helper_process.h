/* SPDX-License-Identifier: MIT */
/* helper_process.h - starts helper processes, and knows which processes they are. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/defs.h"

/* Forks a helper process with that name: its pid, 0 in the child, or -errno. Without an exit signal there is no
 * SIGCHLD, and wait() does not see it. */
pid_t helper_process_fork(const char *name) must_check;
/* Whether that process was forked here as a helper: names prove nothing. `start_ns`: when it began, by the boot clock and rounded
 * down to a tick of `tick_ns`. The latest HELPER_PROCESSES_MAX are known. */
#define HELPER_PROCESSES_MAX 256
bool helper_process_is_ours(pid_t pid, uint64_t start_ns, uint64_t tick_ns);
/* Registers a process that was forked by other means, or by a helper. */
void helper_process_add(pid_t pid);

/* exec's arguments are not const for historical reasons. */
static inline char *const *helper_process_words(const char *const *words)
{
	char *const *ret;

	memcpy(&ret, &words, sizeof ret);
	return ret;
}
