/* SPDX-License-Identifier: MIT */
/* strace_keeper.h - the process between us and strace: starts it in a process group of its own, passes on what it
 * writes, and ends it. Only strace.c starts it. */
#pragma once

#include "base/scan.h"
#include "trace/strace.h"

/* All that it needs, made before the fork: a thread of its parent may hold any lock just then. */
struct strace_plan {
	struct strace_options options;
	const char *const *argv, *const *environment;
	int control_fd; /* its end of a SOCK_SEQPACKET pair: it sends news, and ends at any message or the end of file */
};

#define STRACE_TRACE_FD 3 /* in strace: where it writes */

/* Forks one, which has a copy of control_fd: its pid, or -errno. */
pid_t strace_keeper_start(const struct strace_options *o, int control_fd, struct err *err)
	must_check;
/* The other end of the socket of a keeper; its pid if it is a child of ours, else 0. */
struct strace *strace_keeper_connect(int take_fd, pid_t keeper);

/* Async-signal-safe. */
_Noreturn void strace_keeper_run(const struct strace_plan *plan);
/* One line that strace printed besides the trace: whether it reports that this process is traced from now on. */
bool strace_message_is_attached(struct scan line, pid_t pid);
/* Whether it is a notice of a process that joined or left, which is part of every trace. */
bool strace_message_is_notice(struct scan line);
