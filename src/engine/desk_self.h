/* SPDX-License-Identifier: MIT */
/* desk_self.h - what the files of the desk share: desk.c (who registers and how it ends),
 * desk_past.c (what was before us), desk_note.c (what each snapshot brings). */
#pragma once

#include "engine/desk.h"
#include "job/strangers.h"
#include "job/tally.h"

/* What we know of a job besides its row in the engine's table; in the same order. */
struct desk_entry {
	struct tally tally;
	struct proc_id root;
	uint64_t over_mono_ns; /* 0: it runs */
	uint64_t outlived;
	bool is_told;      /* its end went into a snapshot */
	bool is_concluded; /* nobody told its end: its process ended */
	bool is_past;      /* it ended before us: its figures are those that were stored */
};

struct desk {
	struct engine *engine;
	int root_fd;
	struct strangers *strangers; /* its claims are in the order of the entries */
	VEC(struct desk_entry) entries;
};

static inline struct job *desk_job(const struct desk *d, int32_t job)
{
	return &engine_jobs(d->engine)->jobs.at[job];
}

/* Its row and its entry; -1: there is no room. */
int32_t desk_enter(struct desk *d, const struct job *job, struct proc_id root);
/* The process, and who descends from it already. */
void desk_add_members(struct desk *d, int32_t at, struct proc_id root);
void desk_put_end(struct desk *d, int32_t at, const struct sheet *how);
void desk_remove(struct desk *d, int32_t job);
uint64_t desk_count_living(const struct desk *d, int32_t job);
