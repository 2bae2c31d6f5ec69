/* SPDX-License-Identifier: MIT */
/* unreaped.h - members of a job that have ended and may not have been reaped yet. A process that
 * ended is not sampled any more; but a zombie is a problem of its job, so these still are, until
 * they are gone. Bounded: in a storm of exits some zombies are missed. */
#pragma once

#include "model/snapshot.h"

#define UNREAPED_MAX 256

struct unreaped_one {
	struct proc_id id;
	struct job_ref ref;
	bool is_kept;   /* in the table, which had forgotten it */
	bool is_listed; /* in the focus of a tick */
};

struct unreaped {
	VEC(struct unreaped_one) list;
};

/* An exit without totals is that of a process that was not reaped when it was reported, or comes
 * from a source that has no totals. */
void unreaped_learn(struct unreaped *u, const struct job_roster *jobs, const struct event *events,
                    size_t n);
/* Adds them to the focus; they stay members of their job. */
void unreaped_list(struct unreaped *u, struct job_roster *jobs, struct sample_request *to);
/* Forgets those that were in the focus of this tick and are gone. */
void unreaped_forget(struct unreaped *u, struct job_roster *jobs, const struct snapshot *snap);
void unreaped_done(struct unreaped *u);
