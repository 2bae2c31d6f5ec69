/* SPDX-License-Identifier: MIT */
/* gpu_child.h - a helper process: this program started anew, with nothing of the recorder's but a
 * socket.
 *
 * Between the two stands a keeper, which is all that is started here: a child without an exit
 * signal, so that a wait for all children (the launcher of a job does that) neither returns it nor
 * takes the helper for one of the job's. It ends the helper on SIGTERM and when the recorder
 * dies, and lives for as long as the helper does: also one that hangs where SIGKILL does not reach
 * it. */
#pragma once

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#include "base/err.h"

struct gpu_child {
	pid_t pid;  /* the keeper's; 0: none */
	int pid_fd; /* signals and waits go through it: a pid may be taken over */
	int fd;     /* questions and answers */
};
#define GPU_CHILD_NONE ((struct gpu_child){ .pid = 0, .pid_fd = -1, .fd = -1 })

#define GPU_CHILD_NOT_STARTED 127 /* exit status: the helper could not be executed */

int gpu_child_start(const char *program, const char *source, struct gpu_child *ret, struct err *err)
	must_check;
void gpu_child_end(const struct gpu_child *c); /* asks for it; it may take a while */
/* True when it is over: with the helper's exit status, or 128 + the signal that ended it. */
bool gpu_child_reap(const struct gpu_child *c, int *ret_status);
/* Lets go of it: the process must be over, or left to itself. */
void gpu_child_close(struct gpu_child *c);
