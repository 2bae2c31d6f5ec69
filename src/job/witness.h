/* SPDX-License-Identifier: MIT */
/* witness.h - tells a signal that was sent to our whole process group from one that was sent to us
 * alone. The kernel gives both the same siginfo, so a small process of ours stands in the group
 * with every signal blocked: what is pending for it was sent to the group. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct witness {
	pid_t pid;   /* 0: there is none */
	int pipe_fd; /* closed, it ends */
};

/* It dies with us. */
int witness_start(struct witness *w, struct err *err) must_check;
/* Whether the signal we just got went to the group. Afterwards the witness is a fresh one, since a
 * pending signal stays pending. Without a witness: false. */
bool witness_saw(struct witness *w, int signo);
/* Forgets what it has seen. */
void witness_renew(struct witness *w);
void witness_stop(struct witness *w);
