/* SPDX-License-Identifier: MIT */
/* forwarded_signals.h - signals that were sent to us and passed on to the command. The kernel
 * reports us as their sender; the true sender is kept until that report arrives. */
#pragma once

#include "model/event.h"

#define FORWARDED_SIGNALS_KEPT 32

struct forwarded_signal {
	int signo; /* 0: free */
	pid_t pid; /* its sender; 0: the kernel */
	uint32_t uid;
	char comm[COMM_LEN]; /* "": it was gone */
};

struct forwarded_signals {
	struct forwarded_signal ring[FORWARDED_SIGNALS_KEPT];
	size_t count; /* of all time */
};

/* Keeps the sender, with its name. */
void forwarded_signals_add(struct forwarded_signals *f, int root_fd, int signo, pid_t pid,
                           uint32_t uid);
/* Sets the true sender of a signal that we sent: that of the oldest one kept with its number. */
void forwarded_signals_name(struct forwarded_signals *f, struct event *e);
