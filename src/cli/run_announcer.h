/* SPDX-License-Identifier: MIT */
/* run_announcer.h - a job that is run announces itself to the daemon, if there is one: what it is, its
 * sheets, marks and phases, its end. The daemon shows it and publishes what happens; recording stays
 * ours. A daemon that dies, comes back or hangs costs the job nothing. */
#pragma once

#include "engine/jobhost.h"
#include "serve/serve.h"

struct run_announcer;

struct run_announcer *run_announcer_new(struct loop *loop, struct jobhost *host);
/* Announces what the job's own socket accepted. Its self is the announcer. */
extern const struct serve_observer run_announcer_observer;
/* The job as it ended; `is_stored`: and as it is on disk. */
void run_announcer_end(struct run_announcer *h, const struct job *job, bool is_stored);
void run_announcer_free(struct run_announcer *h); /* NULL is fine */
