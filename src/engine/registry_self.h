/* SPDX-License-Identifier: MIT */
/* registry_self.h - what the files of the desk share: registry.c (who registers and how it ends),
 * registry_past.c (what was before us), registry_note.c (what each snapshot brings). */
#pragma once

#include "engine/registry.h"
#include "job/adoption.h"
#include "job/accounting.h"

/* What we know of a job besides its row in the engine's table; in the same order. */
struct registry_entry {
	struct accounting tally;
	struct proc_id root;
	uint64_t over_mono_ns; /* 0: it runs */
	uint64_t outlived;
	bool is_told;      /* its end went into a snapshot */
	bool is_concluded; /* nobody told its end: its process ended */
	bool is_past;      /* it ended before us: its figures are those that were stored */
};

struct registry {
	struct engine *engine;
	int root_fd;
	struct adoption *strangers; /* its claims are in the order of the entries */
	VEC(struct registry_entry) entries;
};

static inline struct job *registry_job(const struct registry *d, int32_t job)
{
	return &engine_jobs(d->engine)->jobs.at[job];
}

/* Its row and its entry; -1: there is no room. */
int32_t registry_enter(struct registry *d, const struct job *job, struct proc_id root);
/* The process, and who descends from it already. */
void registry_add_members(struct registry *d, int32_t at, struct proc_id root);
void registry_put_end(struct registry *d, int32_t at, const struct sheet *how);
void registry_remove(struct registry *d, int32_t job);
uint64_t registry_count_living(const struct registry *d, int32_t job);
