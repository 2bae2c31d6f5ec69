/* SPDX-License-Identifier: MIT */
/* jobhost.h - runs one job from launch to end: its control group, its command behind the launcher, and
 * the engine that watches it. A failure to watch never affects the command. Used by `proctor run`. */
#pragma once

#include "engine/job_input.h"
#include "job/cgroup/job_cgroup.h"
#include "job/launch/launcher.h"

struct jobhost;

struct jobhost_options {
	struct engine_options engine;
	const struct job *job; /* as it begins: id, type, command, tags, limits … */
	char *const *argv;
	struct capture *capture; /* borrowed; NULL: its output is not captured */
	bool waits;              /* for processes that outlive the command */
	bool kills_leftovers;    /* … or ends them */
	uint64_t grace_ns;       /* between SIGTERM and SIGKILL */
	/* Gives the engine its stages and sinks, before the command runs. */
	void (*set_pipeline)(void *self, struct engine *engine);
	/* Finds what killed these processes, which we do not see; called once at most. May be
	 * NULL. */
	void (*ask_verdict)(void *self, struct proc_id command, const struct proc_id *killed,
	                    size_t n, struct cause_verdict *ret);
	void *self;
};

/* Creates the group and the command's process, which waits, and begins to watch. -ENOTSUP: a limit
 * cannot be enforced here; other errors: the command cannot be started. Nothing is left behind then. */
int jobhost_new(struct loop *loop, struct launcher *take_launcher,
                const struct jobhost_options *options, struct jobhost **ret, struct err *err)
	must_check;
/* Lets the command run. -ENOENT: there is no such command; others: it cannot be run. */
int jobhost_start(struct jobhost *h, struct err *err) must_check;
/* Ends a job whose command could not be run, with this status and without a process. */
void jobhost_fail(struct jobhost *h, int status, const char *why);
/* Returns when the command has ended, and its leftovers if they are waited for. */
int jobhost_run(struct jobhost *h, struct err *err) must_check;
/* Ends the job with the last snapshot, and stores it. */
void jobhost_finish(struct jobhost *h, struct engine_totals *ret_totals);
void jobhost_free(struct jobhost *h); /* NULL is fine */
DEFINE_CLEANUP(struct jobhost *, jobhost_free)

const struct launch_end *jobhost_end(const struct jobhost *h); /* how the command ended */
struct engine *jobhost_engine(struct jobhost *h);
/* The job and its sheets as they are now. */
const struct job_row *jobhost_row(const struct jobhost *h);
pid_t jobhost_pid(const struct jobhost *h); /* of the command */
