/* SPDX-License-Identifier: MIT */
/* group_signal_detector.h - distinguishes a signal to our whole process group from one to us alone.
 * Both have the same siginfo, so a small helper process in the group blocks every signal: those that
 * are pending for it were sent to the group. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "job/launch/launch_helper.h"

/* It dies with us; ended by launch_helper_stop(). */
int group_signal_detector_start(struct launch_helper *w, struct err *err) must_check;
/* Whether the signal went to the group. A pending signal hides further ones of the same number, so
 * the detector must be renewed after true is returned. False if there is no detector. */
bool group_signal_detector_saw(const struct launch_helper *w, int signo);
/* Replaces it by a new one. Returns the signals that were pending for the old one and not for the
 * new: those of them that are pending for us, too, went to the group. */
uint64_t group_signal_detector_renew(struct launch_helper *w);
/* The blocked signals that are pending for that process. */
uint64_t group_signal_detector_pending(pid_t pid);

static inline uint64_t group_signal_detector_bit(int signo)
{
	return UINT64_C(1) << (signo - 1);
}
