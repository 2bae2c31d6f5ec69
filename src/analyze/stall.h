/* SPDX-License-Identifier: MIT */
/* stall.h - whether a job whose processes all wait will ever go on, by what each of them waits for. Pure. */
#pragma once

#include "model/anomaly.h"
#include "model/blocked_call.h"

/* X(id, seconds: how long a job waits so before it is reported) */
#define STALL_KINDS(X)                                                                             \
	X(NONE, 0)                                                                                 \
	X(DEADLOCK, 15)       /* processes wait for each other */                                  \
	X(UNINTERRUPTIBLE, 60) /* in the kernel: a disk or a file server does not answer */         \
	X(LOCK, 300)          /* no thread is left that could release it */                        \
	X(NETWORK, 600)       /* the other side may be at work */

#define X(id, seconds) STALL_##id,
enum stall_kind { STALL_KINDS(X) STALL_KIND_COUNT };
#undef X

struct stall {
	enum stall_kind kind;
	struct proc_id id; /* a process that shows it */
	char comm[COMM_LEN];
	char text[ANOMALY_TEXT_MAX]; /* what it waits for */
};

/* `n_processes` of the job are alive. A job waits in vain only if all of them do: if one runs, may wake by itself, is
 * stopped, or cannot be read, there is no stall. */
void stall_find(const struct blocked_call *calls, size_t n, size_t n_processes, struct stall *ret);
/* Whether the process may go on as far as is known of it alone: then there is no stall, and the others need not be read. */
bool stall_may_resume(const struct blocked_call *b);
uint64_t stall_patience_ns(enum stall_kind kind);
