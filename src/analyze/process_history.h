/* SPDX-License-Identifier: MIT */
/* process_history.h - what detectors remember of each process: a trail of its memory over the window, since
 * when it is busy, since when it is a zombie, who started it. Fed with every look, in their order;
 * bounded, and without allocation as long as no more processes come. */
#pragma once

#include "base/vec.h"
#include "model/anomaly.h"
#include "model/snapshot.h"

#define TRAIL_MARKS 32
#define TRAIL_SETTLE_NS (2 * NS_PER_S) /* a start-up is not a spike: no marks before this age */

/* How much memory it had, and when. In 8 bytes, because there are many. */
struct mark {
	uint32_t at_ms; /* boot clock; wraps around after 49 days, which a window never lasts */
	uint32_t rss_kib;
};

struct trail {
	struct proc_id id;
	pid_t first_ppid;       /* who started it, as far as known; 0: not known */
	uint8_t first, len;     /* of marks: a ring */
	uint64_t settled_ns;    /* boot clock: from when on it is marked */
	uint64_t step_ns;       /* boot clock: where the step began in which its CPU is judged; */
	uint64_t step_cpu_ns;   /* … its CPU time then; 0 and 0: none is under way */
	uint64_t busy_since_ns; /* boot clock; 0: it is not */
	double busy_ratio;      /* of one core, in the last step */
	uint64_t dead_since_ns; /* boot clock: when it was first seen as a zombie; 0: it is none */
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

/* A snapshot of events only, or one in which no process could be read, changes nothing. */
void process_history_feed(struct process_history *h, const struct snapshot *snap,
                          const struct anomaly_config *config);
void process_history_done(struct process_history *h);

/* Of the n-th process of the snapshot that was fed last. */
const struct trail *process_history_trail(const struct process_history *h, size_t n);
/* The earliest mark inside the window; false: there is none. */
bool trail_earliest(const struct trail *t, uint64_t now_boot_ns, uint64_t *ret_rss_bytes,
                    uint64_t *ret_boot_ns);
