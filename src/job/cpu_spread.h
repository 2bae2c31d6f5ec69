/* SPDX-License-Identifier: MIT */
/* cpu_spread.h - the CPU time of a job as shares of the time between ticks, none of which is impossible. */
#pragma once

#include "job/watched_job.h"

/* How many tasks may have run at once: those that live shorter than an interval may never be seen. Of this
 * tick, after its processes, or of events. */
void cpu_spread_count_tasks(struct watched_job *w);
/* The CPU time since the last tick, as a share of the time since then. What exceeds the CPUs that the job
 * could use belongs to other ticks: the counters and the clock are not read at one instant. It is shown
 * with the next ones, so that the shares add up to what the sum has. */
void cpu_spread_take(struct watched_job *w, uint64_t boot_ns, struct job_sum *sum);
