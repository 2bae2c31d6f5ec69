/* SPDX-License-Identifier: MIT */
/* job_commits.h - commits jobs without waiting for the disk on the loop. Requests made while the disk is busy are batched,
 * so that many jobs in a row do not push snapshots out of the recorder's queue. */
#pragma once

#include "base/vec.h"
#include "engine/engine.h"

typedef void (*job_commits_fn)(void *self, enum stored stored);

struct job_commit {
	bool has_ended;
	job_commits_fn done;
	void *self;
};

struct job_commit_list {
	VEC(struct job_commit) list;
};

struct job_commits {
	struct engine *engine;
	struct loop_source *timer;
	uint64_t number;                  /* of the snapshot that holds them */
	uint64_t end_ns;                  /* of the patience with the disk */
	struct job_commit_list now, next; /* now: being stored */
};

void job_commits_init(struct job_commits *c, struct loop *loop, struct engine *engine);
/* Calls back from the loop, in this order, when it is known whether a job that runs, or has ended, is stored as it is
 * now, or after a second: STORED_UNKNOWN then, because it is still on its way to the disk. */
void job_commits_add(struct job_commits *c, bool has_ended, job_commits_fn done, void *self);
/* Those that still wait are called back when they are stored, after a second with STORED_UNKNOWN. */
void job_commits_done(struct job_commits *c);
