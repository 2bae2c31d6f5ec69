/* SPDX-License-Identifier: MIT */
/* continue_detector.h - wakes us when the stopped command continues. While we are stopped together
 * with the command, another process (a supervisor, cpulimit) may continue or kill only the command,
 * and a stopped parent does not notice. So a small helper process watches it. */
#pragma once

#include <stdint.h>

#include "job/launch/launch_helper.h"

/* Call it before we stop. It wakes us when the command continues, or at the deadline (monotonic; 0:
 * none). It dies with us, and is ended by launch_helper_stop(). If it cannot be started, only a
 * SIGCONT to us continues us. */
void continue_detector_start(struct launch_helper *w, pid_t stopped, uint64_t deadline_ns);
