/* SPDX-License-Identifier: MIT */
/* process_history.h - what the anomaly rules remember about each process: its memory over the window,
 * since when it has been busy or a zombie, and its original parent. Fed with every snapshot, in
 * order. Bounded; allocates only when the number of processes grows. */
#pragma once

#include "base/vec.h"
#include "model/anomaly.h"
#include "model/snapshot.h"

#define TRAIL_MARKS 32
#define TRAIL_SETTLE_NS (2 * NS_PER_S) /* start-up is not a spike: no marks before this age */

#define TRAIL_THREADS_NS (15 * NS_PER_S)

/* Its resident memory at one time. In 8 bytes, because there are many. */
struct mark {
	uint32_t at_ms; /* boot clock; wraps around after 49 days, much longer than a window */
	uint32_t rss_kib;
};

struct trail {
	struct proc_id id;
	pid_t first_ppid;       /* its original parent; 0: unknown */
	uint8_t first, len;     /* the ring of marks */
	uint64_t settled_ns;    /* boot clock: no marks before this */
	uint64_t step_ns;       /* boot clock: start of the current CPU step; 0: none */
	uint64_t step_cpu_ns;   /* its CPU time at that point */
	uint64_t busy_since_ns; /* boot clock; 0: not busy */
	double busy_ratio;      /* of one core, in the last step */
	uint64_t dead_since_ns; /* boot clock: first seen as a zombie; 0: it is not one */
	uint64_t threads_ns; /* boot clock: since when later_threads counts; 0: it has none yet */
	uint32_t threads;    /* the fewest since once or twice TRAIL_THREADS_NS */
	uint32_t later_threads; /* … in the later part of that time */
	struct mark marks[TRAIL_MARKS];
};

struct trail_index {
	uint32_t *at;
	size_t len, cap;
};

struct process_history {
	VEC(struct trail) trails;       /* a pool */
	struct trail_index order, next; /* in the order of the snapshot's processes */
	struct trail_index free_trails;
};

/* A flush, or a snapshot in which no process could be read, changes nothing. */
void process_history_feed(struct process_history *h, const struct snapshot *snap,
                          const struct anomaly_config *config);
void process_history_done(struct process_history *h);

/* The trail of the n-th process of the last snapshot. */
const struct trail *process_history_trail(const struct process_history *h, size_t n);
/* The earliest mark inside the window; false: there is none. */
bool process_history_earliest(const struct trail *t, uint64_t now_boot_ns, uint64_t *ret_rss_bytes,
                              uint64_t *ret_boot_ns);
