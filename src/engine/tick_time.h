/* SPDX-License-Identifier: MIT */
/* tick_time.h - when the next tick is due. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The first time on the grid planned + n × interval (n ≥ 1) that is after now: no drift, and no
 * burst of ticks to catch up after a stop or a suspend. *ret_missed is how many were skipped. */
uint64_t tick_time_next(uint64_t planned_ns, uint64_t now_ns, uint64_t interval_ns,
                        uint64_t *ret_missed);

/* Whether a tick that comes so late is worth an event. A busy machine delays the frequent ticks of a young
 * job by more than their interval; that is no gap in its record. */
bool tick_time_is_gap(uint64_t late_ns, uint64_t interval_ns);

/* The interval of a job's recorder at this age of the job: short at first, for short jobs, and longer
 * later, up to `longest_ns`. */
uint64_t tick_time_interval(uint64_t age_ns, uint64_t longest_ns);
