/* SPDX-License-Identifier: MIT */
#include "serve/methods.h"

#include "base/clock.h"

const struct server_method serve_methods[] = {
	{ "rpc.hello", method_hello },
	{ "daemon.status", method_status },
	{ "daemon.top", method_top },
	{ "daemon.events", method_events },
	{ "job.list", method_job_list },
	{ "job.mark", method_job_mark },
	{ "job.phase", method_job_phase },
	{ "sheet.started", method_sheet_started },
	{ "sheet.completed", method_sheet_completed },
	{ "sheet.failed", method_sheet_failed },
	{ "context.get", method_context_get },
	{ "pressure.get", method_pressure_get },
	{ "admit", method_admit },
	{ "bus.subscribe", method_bus_subscribe },
	{ "bus.publish", method_bus_publish },
	{ NULL },
};

void methods_publish(struct methods *m, const char *name, const char *job_id, uid_t uid,
                     const char *text)
{
	struct bus_event e = {
		.name = name, .job_id = job_id, .text = text, .wall_ns = clock_wall_ns(), .uid = uid
	};

	if (!m->bus)
		return;
	(void)bus_publish(m->bus, &e);
	server_wake(m->server);
}
