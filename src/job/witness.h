/* SPDX-License-Identifier: MIT */
/* witness.h - tells a signal that was sent to our whole process group from one that was sent to us
 * alone. The kernel gives both the same siginfo, so a small process of ours stands in the group
 * with every signal blocked: what is pending for it was sent to the group. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "job/helper.h"

/* It dies with us; ended by helper_stop(). */
int witness_start(struct helper *w, struct err *err) must_check;
/* Whether the signal went to the group. A signal that waits is not told from one more of the same:
 * after an answer of yes the witness is to be renewed. Without a witness: no. */
bool witness_saw(const struct helper *w, int signo);
/* A fresh one takes its place. Returns what the old one saw and the new one did not: of the signals
 * that wait for us too, these went to the group. */
uint64_t witness_renew(struct helper *w);
/* The signals that wait for that process, one that has them blocked. */
uint64_t witness_pending(pid_t pid);

static inline uint64_t witness_bit(int signo)
{
	return UINT64_C(1) << (signo - 1);
}
