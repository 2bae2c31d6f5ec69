/* SPDX-License-Identifier: MIT */
/* hook_keeper.h - the process that runs the hook of `run --on-anomaly`: one at a time, at most 10 s each. It belongs to
 * no job, and what a hook leaves behind is its child, so that it is found and ended. anomaly_hook.c starts it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/err.h"

#define HOOK_LIMIT_NS (10 * NS_PER_S)
#define HOOK_INPUT_MAX 8192 /* bytes of one finding */
#define HOOK_STDERR_MAX 160

/* Its answer to each finding. */
struct hook_end {
	int status;      /* of wait() */
	int error;       /* errno: it was not started */
	bool timed_out;  /* it, or a process that it started, was killed at the limit */
	char stderr_line[HOOK_STDERR_MAX]; /* the first line that it wrote to stderr */
};

/* Starts it in this process's environment and directory: its pid, or -errno. `control_fd` is its end of a SOCK_SEQPACKET
 * pair. When the other end is closed it passes on what waits there, for 10 s at most, and ends. */
pid_t hook_keeper_start(const char *command, int control_fd, struct err *err) must_check;
