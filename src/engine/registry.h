/* SPDX-License-Identifier: MIT */
/* registry.h - where jobs that others started are registered with an engine that watches the whole
 * machine: by the pid of their first process. A job that is ours is stored with its figures; one
 * that has a recorder of its own (is_foreign) is only shown. Ended jobs stay for a minute, so that
 * who asks late still finds them. */
#pragma once

#include "engine/job_input.h"

#define REGISTRY_JOBS_PER_UID_MAX 1024 /* that run, but root's: nobody takes all the room */

struct registry;

/* The engine asks it until it is stopped: it is to be freed after that. */
struct registry *registry_new(struct engine *engine);
void registry_free(struct registry *d); /* NULL is fine */
DEFINE_CLEANUP(struct registry *, registry_free)

/* `job` as it begins: who and what it is; without started_ns it begins now. What descends from pid
 * belongs to it, and who bears its signs (adoption.h). -EALREADY: one of that id runs, or one of
 * that process; -ENOENT: there is no such process; -ENOSPC. A lost job of that id whose recorder is
 * back takes its old place. */
int registry_start(struct registry *d, const struct job *job, pid_t pid, struct err *err)
	must_check;
/* A process of a job, as it was known last. */
struct registry_process {
	struct proc_id id;
	uint32_t sheet;
};

/* What is remembered of a job that ran before we did. */
struct registry_past {
	struct proc_id root;
	uint64_t ended_cpu_ns; /* CPU time of those that had */
	uint64_t since_ns;     /* who was lost before that was shown by another before us */
	VEC(struct registry_process) processes; /* that had not ended */
	VEC(struct sheet) sheets;
};

#define REGISTRY_PAST_NS (3600 * NS_PER_S) /* so long ago we may have seen a lost job last */

enum registry_restored { REGISTRY_LEFT, REGISTRY_GOES_ON, REGISTRY_ENDED };
/* Goes on with it if its first process is still there; what it took so far counts, and once. If
 * not, it is shown as one that has just been lost, for somebody to say how it ended, unless that is
 * long ago. */
enum registry_restored registry_restore(struct registry *d, const struct job *job,
                                        const struct registry_past *past);
/* status, exit_code and signal of `how` count. -EALREADY: it was ended before; an end that we
 * concluded from the end of its process may still be put right. */
int registry_end(struct registry *d, int32_t job, const struct sheet *how, struct err *err)
	must_check;
/* Its recorder is gone without a word. */
void registry_lose(struct registry *d, int32_t job);
int registry_begin_sheet(struct registry *d, const struct job_input_sheet *begun, uint32_t *ret_num,
                         struct err *err) must_check;
/* For every snapshot before it is stored: fills in what the jobs took. */
void registry_note(struct registry *d, struct snapshot *snap);
