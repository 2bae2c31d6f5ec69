/* SPDX-License-Identifier: MIT */
/* run_announcer.h - a job that is run announces itself to the daemon, if there is one: what it is, its
 * sheets, marks and phases, its end. The daemon shows it and publishes what happens; recording stays
 * ours. A daemon that dies, comes back or hangs costs the job nothing. */
#pragma once

#include "serve/serve.h"

struct run_announcer;

struct run_announcer_options {
	struct engine *engine;     /* that watches the job */
	const struct job_row *job; /* as it is at any time until the end is announced */
	pid_t pid;                 /* of its first process */
	bool counts_from_now;      /* … which is older than the job */
};

struct run_announcer *run_announcer_new(struct loop *loop,
                                        const struct run_announcer_options *options);
/* Announces what the job's own socket accepted. Its self is the announcer. */
extern const struct serve_observer run_announcer_observer;
/* Before the engine is stopped: a daemon that came since the last try gets to know the job. */
void run_announcer_connect(struct run_announcer *h);
/* The job as it ended; `is_stored`: and as it is on disk. Of one that is lost nothing is known but that the
 * connection ends. */
void run_announcer_end(struct run_announcer *h, const struct job *job, bool is_stored);
void run_announcer_free(struct run_announcer *h); /* NULL is fine */
