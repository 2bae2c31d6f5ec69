/* SPDX-License-Identifier: MIT */
/* continue_detector.h - wakes us when the command goes on. While we stand still beside a stopped command,
 * somebody may continue it alone (a supervisor, cpulimit), or kill it, and the kernel tells that
 * to a parent that does not run. So a small process of ours looks. */
#pragma once

#include <stdint.h>

#include "job/launch/launch_helper.h"

/* To be called before we stop; it dies with us. Without one (no more processes) we wait for a
 * SIGCONT of our own. Ended by launch_helper_stop(). */
/* … or at the deadline (monotonic; 0: none), because there is something to do then. */
void continue_detector_start(struct launch_helper *w, pid_t stopped, uint64_t deadline_ns);
