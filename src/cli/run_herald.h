/* SPDX-License-Identifier: MIT */
/* run_herald.h - a job that is run announces itself to the daemon, if there is one: who it is, its
 * sheets, what it says, its end. The daemon shows it and tells who listens; recording it stays
 * ours. A daemon that dies, comes back or hangs costs the job nothing. */
#pragma once

#include "engine/jobhost.h"
#include "engine/saying.h"

struct run_herald;

struct run_herald *run_herald_new(struct loop *loop, struct jobhost *host);
void run_herald_begin_sheet(struct run_herald *h, const struct saying_sheet *begun, uint32_t num);
void run_herald_end_sheet(struct run_herald *h, uint32_t num, const struct sheet *how);
void run_herald_say(struct run_herald *h, enum event_kind kind, const char *name, uint64_t took_ns,
                    const char *data_json);
void run_herald_end(struct run_herald *h, const struct launch_end *end);
void run_herald_free(struct run_herald *h); /* NULL is fine, as it is for all of these */
