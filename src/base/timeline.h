/* SPDX-License-Identifier: MIT */
/* timeline.h - the wall clock as a process keeps it: read once, and from then on as fast as the boot clock. A
 * step of the system's clock does not change it, so that the difference of two times is a duration, and times
 * are in the order of what happened. clock_wall_ns() is on it. */
#pragma once

#include <stdint.h>

uint64_t timeline_now_ns(void);
/* Takes over a step of the system's clock, for a process that lives long and measures nothing now. */
void timeline_follow(void);
