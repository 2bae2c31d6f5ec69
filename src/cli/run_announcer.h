/* SPDX-License-Identifier: MIT */
/* run_announcer.h - a job that is run announces itself to the daemon, if there is one: who it is, its
 * sheets, what it says, its end. The daemon shows it and tells who listens; recording it stays
 * ours. A daemon that dies, comes back or hangs costs the job nothing. */
#pragma once

#include "engine/jobhost.h"
#include "engine/job_input.h"

struct run_announcer;

struct run_announcer *run_announcer_new(struct loop *loop, struct jobhost *host);
void run_announcer_begin_sheet(struct run_announcer *h, const struct job_input_sheet *begun,
                               uint32_t num);
void run_announcer_end_sheet(struct run_announcer *h, uint32_t num, const struct job_end *how);
void run_announcer_say(struct run_announcer *h, enum event_kind kind, const char *name,
                       uint64_t took_ns, const char *data_json);
void run_announcer_end(struct run_announcer *h, const struct launch_end *end);
void run_announcer_free(struct run_announcer *h); /* NULL is fine, as it is for all of these */
