/* SPDX-License-Identifier: MIT */
/* process_selection.h - which processes of a snapshot a JSONL line holds. Pure. */
#pragma once

#include "model/snapshot_scope.h"

/* X(id, name in the configuration) */
#define PROCESS_SELECTIONS(X)                                                                      \
	X(JOBS_AND_LARGEST,                                                                        \
	  "jobs+20") /* those of jobs, and 10 each of the others by CPU and RSS */                 \
	X(ALL, "all")                                                                              \
	X(JOBS, "jobs")

#define X(id, ...) SELECT_##id,
enum process_selection { PROCESS_SELECTIONS(X) PROCESS_SELECTION_COUNT };
#undef X
extern const char *const process_selection_names[PROCESS_SELECTION_COUNT];

#define SELECTION_LARGEST 10 /* by each measure */

/* The processes outside jobs that are selected: indices in snap->procs. */
struct process_largest {
	uint32_t at[2 * SELECTION_LARGEST];
	size_t len;
};

/* The largest processes in no job of the scope, by CPU share and by resident memory. A process that
 * is large by both counts once. */
void process_largest_find(const struct snapshot *snap, const struct snapshot_scope *scope,
                          struct process_largest *ret);
/* Whether the process at this index is selected; `largest` is used for SELECT_JOBS_AND_LARGEST
 * only. */
bool process_selection_has(enum process_selection how, const struct process_largest *largest,
                           const struct snapshot *snap, size_t index);
