/* SPDX-License-Identifier: MIT */
/* registry.h - jobs that others started, registered with an engine that watches the whole machine,
 * by the pid of their first process. A job is stored with its figures; one that
 * another recorder writes into the same store (is_stored_by_other) is only shown. Ended jobs stay for a minute, so that late
 * queries still find them. */
#pragma once

#include "engine/engine.h"

#define REGISTRY_JOBS_PER_UID_MAX 1024 /* except root: one user cannot take all the room */

/* Makes the engine adopt processes into registered jobs. */
void registry_begin(struct engine *e);

/* The start of a job that is registered now: as its started_ns claims (0: now), but neither in the
 * future nor before the process that it is proven by. */
uint64_t registry_bound_start(struct engine *e, const struct job *job);
/* `job` as it begins; without started_ns it begins now. Its root, if set, is the process of that pid whose owner was checked. With pid 0 it has no process yet, and lasts until its
 * end is reported or its registrar is gone. Descendants of pid belong to it, and processes
 * that bear its signature (adoption.h). -EALREADY: a job of the user with that id runs, or one with
 * that process; -ENOENT: there is no such process; -ENOSPC. A job that has a recorder is then
 * added without a process. A job whose recorder is back replaces the lost one of that id. */
int registry_start(struct engine *e, const struct job *job, pid_t pid, job_handle *ret,
                   struct err *err) must_check;
/* Before registry_end(): whether totals of processes of the job, which have just ended, are still to come, for which
 * ENGINE_TOTALS_NS are worth waiting; and a wait for them, which is not for a loop that serves the clients of others. */
bool registry_awaits_totals(struct engine *e, job_handle job);
void registry_await_totals(struct engine *e, job_handle job);
/* -EALREADY: it was ended before; an end that was inferred from that of its process may still be
 * corrected. */
int registry_end(struct engine *e, job_handle job, const struct job_end *how, struct err *err)
	must_check;
/* Ends a job whose recorder is gone without reporting an end. */
void registry_lose(struct engine *e, job_handle job);

/* A process of a job, as last known. */
struct registry_process {
	struct proc_id id;
	uint32_t sheet;
};

/* The stored record of a job that an earlier daemon watched. */
struct registry_past {
	struct proc_id root;
	uint64_t ended_cpu_ns; /* CPU time of the processes that had ended */
	uint64_t
		since_ns; /* the end of that daemon: it declared jobs lost before, and showed them */
	VEC(struct registry_process) processes; /* those that had not ended */
	VEC(struct sheet) sheets;
};

#define REGISTRY_PAST_NS (3600 * NS_PER_S) /* older lost jobs are not shown */

enum registry_restored { REGISTRY_LEFT, REGISTRY_GOES_ON, REGISTRY_ENDED };
/* Resumes the job if its first process is still there; what it used so far counts, once. Otherwise it is
 * shown as lost, so that its end can still be reported, unless that is long ago. */
enum registry_restored registry_restore(struct engine *e, const struct job *job,
                                        const struct registry_past *past);
