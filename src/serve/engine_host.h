/* SPDX-License-Identifier: MIT */
/* engine_host.h - the host of the methods that has an engine: behind the daemon's socket and behind
 * a job's. */
#pragma once

#include "engine/pipeline.h"
#include "serve/serve.h"

/* Called for each sheet, mark and phase that was accepted. */
struct engine_host_observer {
	void (*begin_sheet)(void *self, const struct job_input_sheet *begun, uint32_t num);
	void (*end_sheet)(void *self, uint32_t num, const struct job_end *how);
	void (*add_event)(void *self, enum event_kind kind, const char *name, uint64_t took_ns,
	                  const char *data_json);
};

struct engine_host {
	struct engine *engine;                       /* NULL: nothing is watched */
	struct latest_snapshot latest;               /* for the host's list of sinks */
	const struct engine_host_observer *observer; /* NULL: none */
	void *observer_self;
};

/* What both sockets have in common; the rest is the caller's to fill in. */
struct serve_host engine_host_serve(struct engine_host *h);
