/* SPDX-License-Identifier: MIT */
/* desk.h - where jobs that others started are registered with an engine that watches the whole
 * machine: by the pid of their first process. A job that is ours is stored with its figures; one
 * that has a recorder of its own (is_foreign) is only shown. Ended jobs stay for a minute, so that
 * who asks late still finds them. */
#pragma once

#include "engine/saying.h"

#define DESK_JOBS_PER_UID_MAX 1024 /* that run, but root's: nobody takes all the room */

struct desk;

/* The engine asks it until it is stopped: it is to be freed after that. */
struct desk *desk_new(struct engine *engine);
void desk_free(struct desk *d); /* NULL is fine */
DEFINE_CLEANUP(struct desk *, desk_free)

/* `job` as it begins: who and what it is; without started_ns it begins now. What descends from pid
 * belongs to it, and who bears its signs (strangers.h). -EALREADY: one of that id runs, or one of
 * that process; -ENOENT: there is no such process; -ENOSPC. A lost job of that id whose recorder is
 * back takes its old place. */
int desk_start(struct desk *d, const struct job *job, pid_t pid, struct err *err) must_check;
/* A process of a job, as it was known last. */
struct desk_process {
	struct proc_id id;
	uint32_t sheet;
};

/* What is remembered of a job that ran before we did. */
struct desk_past {
	struct proc_id root;
	uint64_t ended_cpu_ns; /* CPU time of those that had */
	uint64_t since_ns;     /* who was lost before that was shown by another before us */
	VEC(struct desk_process) processes; /* that had not ended */
	VEC(struct sheet) sheets;
};

#define DESK_PAST_NS (3600 * NS_PER_S) /* so long ago we may have seen a lost job last */

enum desk_restored { DESK_LEFT, DESK_GOES_ON, DESK_ENDED };
/* Goes on with it if its first process is still there; what it took so far counts, and once. If
 * not, it is shown as one that has just been lost, for somebody to say how it ended, unless that is
 * long ago. */
enum desk_restored desk_restore(struct desk *d, const struct job *job,
                                const struct desk_past *past);
/* status, exit_code and signal of `how` count. -EALREADY: it was ended before; an end that we
 * concluded from the end of its process may still be put right. */
int desk_end(struct desk *d, int32_t job, const struct sheet *how, struct err *err) must_check;
/* Its recorder is gone without a word. */
void desk_lose(struct desk *d, int32_t job);
int desk_begin_sheet(struct desk *d, const struct saying_sheet *begun, uint32_t *ret_num,
                     struct err *err) must_check;
/* For every snapshot before it is stored: fills in what the jobs took. */
void desk_note(struct desk *d, struct snapshot *snap);
