/* SPDX-License-Identifier: MIT */
/* look_kit.h - looks made by hand, one after the other, for tests of what is judged from them. */
#pragma once

#include <math.h>
#include <stdio.h>

#include "analyze/anomaly_episodes.h"

#define KIT_BOOT_NS (5000 * NS_PER_S) /* boot clock of the first look */
#define KIT_WALL_NS (UINT64_C(1700000000) * NS_PER_S)
#define KIT_MIB (UINT64_C(1) << 20)

static const struct anomaly_config kit_config = {
	.spike_factor = 1.5,
	.spike_window_ns = 30 * NS_PER_S,
	.runaway_cpu_ratio = 0.9,
	.runaway_duration_ns = 60 * NS_PER_S,
};

/* Everything between looks and episodes. */
struct world {
	struct anomaly_config config;
	struct snapshot snap;
	struct process_history history;
	struct findings findings;
	struct episodes episodes;
	struct anomaly_list told;
};

static inline struct world kit_world(void)
{
	return (struct world){ .config = kit_config };
}

static inline void kit_world_done(struct world *w)
{
	snapshot_done(&w->snap);
	process_history_done(&w->history);
	vec_done(&w->findings);
	episodes_done(&w->episodes);
	vec_done(&w->told);
}

/* An empty look, so many seconds after the first; add processes in the order of their pids. */
static inline void kit_look(struct world *w, double after_s)
{
	uint64_t after_ns = (uint64_t)llround(after_s * 1e9);

	snapshot_reset(&w->snap);
	w->snap.boot_ns = KIT_BOOT_NS + after_ns;
	w->snap.wall_ns = KIT_WALL_NS + after_ns;
}

/* A process of the first job that began so many seconds before (or after) the first look. */
static inline struct proc_snap *kit_add(struct world *w, pid_t pid, double began_s)
{
	struct proc_snap *p = vec_push(&w->snap.procs, PROCS_MAX);

	p->s.id.pid = pid;
	p->s.id.start_ticks = (uint64_t)llround((5000 + began_s) * TICKS_PER_S);
	p->s.ppid = 1;
	p->s.state = 'S';
	snprintf(p->s.comm, sizeof p->s.comm, "python");
	return p;
}

static inline void kit_rss(struct proc_snap *p, uint64_t bytes)
{
	readings_set(&p->s.r, PROC_RSS, bytes);
}

static inline size_t kit_judge(struct world *w)
{
	process_history_feed(&w->history, &w->snap, &w->config);
	anomaly_detect(&w->snap, &w->history, &w->config, &w->findings);
	return w->findings.len;
}

static inline size_t kit_tell(struct world *w)
{
	kit_judge(w);
	vec_reset(&w->told);
	episodes_feed(&w->episodes, &w->findings, &w->snap, &w->told);
	return w->told.len;
}
