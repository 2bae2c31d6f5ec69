/* SPDX-License-Identifier: MIT */
/* methods.h - the one table of what a socket answers, the same for a job's door and for the daemon.
 * One file a noun: method_daemon.c, method_job.c, method_bus.c, method_pressure.c. */
#pragma once

#include "engine/bus.h"
#include "rpc/server.h"
#include "serve/recent.h"
#include "serve/serve.h"

/* What the methods are given as their self. */
struct methods {
	struct serve_host host;
	struct recent recent;
	struct bus *bus; /* NULL: nobody has listened yet */
	struct server *server;
	struct buf scratch;
	uint64_t opened_mono_ns;
};

extern const struct server_method serve_methods[]; /* the last has no name */

#define METHOD(name)                                                                               \
	int name(void *self, const struct server_peer *peer, const json_t *params,                 \
	         struct json *result, struct err *err)

METHOD(method_hello);
METHOD(method_status);
METHOD(method_top);
METHOD(method_events);
METHOD(method_job_list);
METHOD(method_job_mark);
METHOD(method_job_phase);
METHOD(method_sheet_started);
METHOD(method_sheet_completed);
METHOD(method_sheet_failed);
METHOD(method_context_get);
METHOD(method_pressure_get);
METHOD(method_admit);
METHOD(method_bus_subscribe);
METHOD(method_bus_publish);

/* An event of ours, if anybody listens. `text` is the JSON of an object. */
void methods_publish(struct methods *m, const char *name, const char *job_id, uid_t uid,
                     const char *text);
