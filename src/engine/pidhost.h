/* SPDX-License-Identifier: MIT */
/* pidhost.h - watches a process that runs already, with its descendants, as one job: what they do
 * from then on, until it ends or the user stops watching. It never affects the process. Used by
 * `run --pid`. */
#pragma once

#include "engine/engine.h"

struct pidhost;

/* A process, examined before it is watched. */
struct pidhost_target {
	struct proc_id id;
	uint64_t age_ns;
	struct buf command; /* its arguments, each with a NUL; at least one */
};

/* -ENOENT: there is no such process, or it has ended; -EPERM: it is another user's; -EINVAL: see
 * watch_target.h. */
int pidhost_examine(pid_t pid, struct pidhost_target *ret, struct err *err) must_check;

struct pidhost_options {
	struct engine_options engine;
	const struct job *job; /* as it begins: id, type, command, tags */
	struct proc_id id;     /* of the target */
	/* Gives the engine its stages and sinks. */
	void (*set_pipeline)(void *self, struct engine *engine);
	void *self;
};

/* Begins to watch it. Errors as above. */
int pidhost_new(struct loop *loop, const struct pidhost_options *options, struct pidhost **ret,
                struct err *err) must_check;
/* Returns when the process has ended, or with SIGINT, SIGTERM or SIGHUP. */
int pidhost_run(struct pidhost *h, struct err *err) must_check;
/* Stores the last figures. True: the process still runs, and the user stopped watching. */
bool pidhost_finish(struct pidhost *h, struct engine_totals *ret_totals);
void pidhost_free(struct pidhost *h); /* NULL is fine */
struct engine *pidhost_engine(struct pidhost *h);
const struct job_row *pidhost_job(const struct pidhost *h); /* as it is now */
DEFINE_CLEANUP(struct pidhost *, pidhost_free)
