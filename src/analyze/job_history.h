/* SPDX-License-Identifier: MIT */
/* job_history.h - what the anomaly rules remember about each job: its recent memory and number of processes, since when it has
 * been idle, and what the earlier runs of its type used. Fed with every tick, in order. Bounded by the number of jobs. */
#pragma once

#include "analyze/recent_values.h"
#include "analyze/stall.h"
#include "base/clock.h"
#include "model/disk_use.h"
#include "model/snapshot.h"
#include "model/type_history.h"

#define JOB_DISKS 4

/* A file system that it writes to. */
struct disk_trail {
	struct disk_use now;
	uint64_t seen_ns; /* boot clock; 0: there is none */
	struct recent_values used, own; /* bytes in use there, and in the files that the job has open */
};

struct job_trail {
	job_handle job;
	const struct type_history *past; /* borrowed, good for one tick; NULL: none is known */
	struct recent_values used, procs; /* memory, and how many processes it has */
	struct recent_values cpu, throttled; /* CPU time, and the time it was held back */
	uint64_t idle_since_ns; /* boot clock: it has not computed, read or written since */
	uint64_t idle_cpu_ns, idle_io_bytes; /* … as they were then */
	uint64_t examined_ns;                /* boot clock: what it waits for; 0: not yet */
	struct stall stall;
	struct disk_trail disks[JOB_DISKS];
	uint64_t gpu_idle_since_ns; /* boot clock: it holds memory there, and nothing runs; 0: not so */
};

struct job_history {
	VEC(struct job_trail *) trails; /* in the order of the snapshot's jobs */
	uint64_t thrash_since_ns;       /* boot clock: the machine waits for swapped memory; 0: it does not */
};

#define JOB_MEMORY_WINDOW_NS (120 * NS_PER_S)
#define JOB_PROCS_WINDOW_NS (10 * NS_PER_S)
#define JOB_CPU_WINDOW_NS (60 * NS_PER_S)
#define JOB_DISK_WINDOW_NS (120 * NS_PER_S)
#define JOB_DISK_FRESH_NS (20 * NS_PER_S) /* what has not been seen for longer is not judged */
#define JOB_THRASH_RATIO 0.3 /* of the time some task waits for memory */

/* `past` has one for each of the snapshot's jobs; NULL: none. A flush changes nothing. */
void job_history_feed(struct job_history *h, const struct snapshot *snap,
                      const struct type_history *const *past, bool owns_group);
void job_history_done(struct job_history *h);

/* Whether its processes have been idle for so long that it should be found out what they wait for, */
bool job_history_wants_calls(const struct job_history *h, const struct snapshot *snap, size_t job);
/* … which is this. */
void job_history_take_calls(struct job_history *h, const struct snapshot *snap, size_t job,
                            const struct blocked_calls *calls, size_t n_processes);
/* A file system that a job was found to write to. */
void job_history_take_disk(struct job_history *h, const struct snapshot *snap, const struct disk_use *use);
/* The time that a job was held back by limits of CPU time, its own and, with `owns_group`, those around it. */
double job_history_throttled(const struct snapshot *snap, size_t job, bool owns_group);
/* The trail of that job of the last snapshot; NULL: it has none. */
const struct job_trail *job_history_trail(const struct job_history *h, int32_t job);
