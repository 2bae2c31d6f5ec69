/* SPDX-License-Identifier: MIT */
/* gpu_spawn.h - a helper process: this program started anew, with nothing of the recorder's but a
 * socket. */
#pragma once

#include <string.h>
#include <sys/types.h>

#include "base/err.h"

struct gpu_child {
	pid_t pid;  /* 0: none */
	int pid_fd; /* signals and waits go through it: a pid may be taken over */
	int fd;     /* questions and answers */
};
#define GPU_CHILD_NONE ((struct gpu_child){ .pid = 0, .pid_fd = -1, .fd = -1 })

int gpu_child_start(const char *program, const char *source, struct gpu_child *ret, struct err *err)
	must_check;
/* Lets go of it: the process must have been ended. */
void gpu_child_close(struct gpu_child *c);

/* exec's arguments are not const for reasons of age; nobody writes to them. */
static inline char *const *exec_words(const char *const *words)
{
	char *const *ret;

	memcpy(&ret, &words, sizeof ret);
	return ret;
}
