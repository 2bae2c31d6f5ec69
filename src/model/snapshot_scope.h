/* SPDX-License-Identifier: MIT */
/* snapshot_scope.h - the part of a snapshot that a reader may see or a store should keep. A scope is
 * applied while reading; no copies are made. NULL is the scope of everything. */
#pragma once

#include "model/snapshot.h"

struct snapshot_scope {
	void *self;
	bool (*has_job)(void *self, const struct job *job);
	/* `job` is NULL for a process in no job; an event without a process asks with uid 0. */
	bool (*has_process)(void *self, const struct job *job, uint32_t uid);
};

/* The scope of our own recorder: all but the jobs that another recorder writes into the same store,
 * while it does. */
extern const struct snapshot_scope snapshot_scope_ours;

/* `job` is an index in snap->jobs; false for -1. */
bool snapshot_scope_has_job(const struct snapshot_scope *scope, const struct snapshot *snap,
                            int32_t job);
bool snapshot_scope_has_proc(const struct snapshot_scope *scope, const struct snapshot *snap,
                             const struct proc_snap *p);
bool snapshot_scope_has_event(const struct snapshot_scope *scope, const struct snapshot *snap,
                              const struct event *e);
/* Whether the anomaly concerns a process or job in the scope, or the whole machine. */
bool snapshot_scope_has_anomaly(const struct snapshot_scope *scope, const struct snapshot *snap,
                                const struct anomaly *a);
bool snapshot_scope_has_gpu_use(const struct snapshot_scope *scope, const struct snapshot *snap,
                                const struct gpu_use *use);
bool snapshot_scope_has_zombie(const struct snapshot_scope *scope, const struct snapshot *snap,
                               pid_t pid);

struct snapshot_counts {
	size_t procs, zombies;
	uint32_t running_jobs, active_sheets;
};
/* Counts what is in the scope. NULL, for a snapshot that was read from a store: the jobs and sheets
 * that ran when it was taken. */
struct snapshot_counts snapshot_scope_count(const struct snapshot_scope *scope,
                                            const struct snapshot *snap);
/* Those of its jobs that run, and their sheets, once the snapshot has the final state of each. */
void snapshot_scope_count_jobs(struct snapshot *snap);
