/* SPDX-License-Identifier: MIT */
/* unreaped.h - members of a job that have ended and that nobody may have reaped yet. Whoever ended
 * is not looked at any more; but a zombie is trouble of the job's, so these still are, until they
 * are gone. Bounded: in a storm of ends some zombies are overlooked. */
#pragma once

#include "model/snapshot.h"

#define UNREAPED_MAX 256

struct unreaped_one {
	struct proc_id id;
	struct job_ref ref;
	bool is_kept; /* in the table, which had forgotten it */
};

struct unreaped {
	VEC(struct unreaped_one) list;
};

/* Learns from events: an end without totals is one of a process that was not reaped when it was
 * told (or told by a source that knows no totals). */
void unreaped_learn(struct unreaped *u, const struct jobtab *jobs, const struct event *events,
                    size_t n);
/* Adds them to those that are looked at; they stay members of their job. */
void unreaped_list(struct unreaped *u, struct jobtab *jobs, struct sample *to);
/* Forgets those that the look did not find. */
void unreaped_forget(struct unreaped *u, struct jobtab *jobs, const struct snapshot *snap);
/* As jobtab_remove(). */
void unreaped_remove_job(struct unreaped *u, int32_t job);
void unreaped_done(struct unreaped *u);
