/* SPDX-License-Identifier: MIT */
/* group_signal_detector.h - tells a signal that was sent to our whole process group from one that was sent to us
 * alone. The kernel gives both the same siginfo, so a small process of ours stands in the group
 * with every signal blocked: what is pending for it was sent to the group. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "job/launch/launch_helper.h"

/* It dies with us; ended by launch_helper_stop(). */
int group_signal_detector_start(struct launch_helper *w, struct err *err) must_check;
/* Whether the signal went to the group. A signal that waits is not told from one more of the same:
 * after an answer of yes the witness is to be renewed. Without a witness: no. */
bool group_signal_detector_saw(const struct launch_helper *w, int signo);
/* A fresh one takes its place. Returns what the old one saw and the new one did not: of the signals
 * that wait for us too, these went to the group. */
uint64_t group_signal_detector_renew(struct launch_helper *w);
/* The signals that wait for that process, one that has them blocked. */
uint64_t group_signal_detector_pending(pid_t pid);

static inline uint64_t group_signal_detector_bit(int signo)
{
	return UINT64_C(1) << (signo - 1);
}
