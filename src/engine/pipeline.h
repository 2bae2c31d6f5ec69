/* SPDX-License-Identifier: MIT */
/* pipeline.h - the way of a snapshot: stages complete it, in order, then it is frozen, and sinks
 * receive it. A host writes both lists out once; their order is the program's logic. */
#pragma once

#include "model/snapshot_pool.h"

/* Which snapshots a stage or a sink wants. A flush has events and jobs only (snap->events_only), and
 * comes between ticks. The last one of a recording is a flush too (snap->is_last). */
enum runs_on {
	ON_TICKS = 1 << 0,
	ON_FLUSHES = 1 << 1,
	ON_BOTH = ON_TICKS | ON_FLUSHES,
};

struct stage {
	const char *name;
	unsigned runs_on; /* enum runs_on */
	void (*run)(void *self, struct snapshot *snap);
	void *self;
};

/* A sink that keeps the snapshot takes a reference. All but `take` may be NULL. Only the recorder of `run`
 * may delay its own host, by at most 2 s, so that a storm waits in the kernel's buffers instead of
 * being lost; no sink delays the daemon. */
struct sink {
	const char *name;
	unsigned runs_on; /* enum runs_on */
	void (*take)(void *self, const struct snapshot *snap);
	/* Whether a flush ahead of the next tick would not push out what waits. */
	bool (*has_room)(void *self);
	/* The ends of jobs that are news in this snapshot (snapshot_has_end) are stored, or will not be. */
	void (*outcome)(void *self, const struct snapshot *snap, bool is_stored);
	void *self;
};

#define STAGES_MAX 8
#define SINKS_MAX 8

/* Both lists end with a NULL name. */
struct pipeline {
	struct stage stages[STAGES_MAX + 1];
	struct sink sinks[SINKS_MAX + 1];
};

/* Runs the stages and freezes it. `take_snap` is a pool's; the reference is the caller's. */
const struct snapshot *pipeline_complete(const struct pipeline *p, struct snapshot *take_snap)
	must_check;
/* Hands it to the sinks. */
void pipeline_hand_out(const struct pipeline *p, const struct snapshot *snap);
bool pipeline_has_room(const struct pipeline *p);
bool pipeline_wants_outcomes(const struct pipeline *p);
void pipeline_report_outcome(const struct pipeline *p, const struct snapshot *snap, bool is_stored);
