/* SPDX-License-Identifier: MIT */
/* clock.h - the clocks, in nanoseconds, and times as users read and write them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/types.h>

#include "base/scan.h"

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

uint64_t clock_wall_ns(void);
uint64_t clock_mono_ns(void);
/* Like the monotonic clock, but it also runs during suspend. Process start times use it. */
uint64_t clock_boot_ns(void);
/* When it was so late by the wall clock; now if that is to come. */
uint64_t clock_boot_at(uint64_t wall_ns);
uint64_t clock_process_cpu_ns(void); /* all threads of this process */
uint64_t clock_thread_cpu_ns(void);  /* the calling thread */
/* All threads of another process, those that ended included; 0: there is no such process. */
uint64_t clock_cpu_of_ns(pid_t pid);
/* The same counted in whole ticks, as the kernel does for the limit of CPU time (ulimit -t): on a busy machine a process has only
 * a part of each, and what /proc and wait4() report is scaled to the time that it really had. */
uint64_t clock_ticks_of_ns(pid_t pid);
uint64_t clock_timeval_ns(struct timeval tv);

/* "2026-11-15T14:03:07.412Z"; `to` must hold at least 25 bytes. */
void clock_format_utc(uint64_t wall_ns, char *to, size_t cap);
/* "90", "1.5s", "10m", "1h30m", "7d", "250ms" → ns; a bare number is seconds. Also as Slurm writes it:
 * "1:30:00", "30:00" (minutes), "1-02:00:00" (days). The whole text must match. */
bool clock_parse_duration(struct scan text, uint64_t *ret_ns);
