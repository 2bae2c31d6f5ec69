/* SPDX-License-Identifier: MIT */
#include "serve/announce.h"

#include <stdio.h>

#include "model/codec.h"

/* NULL: it is nobody's business on the bus. */
static const char *name_of(enum event_kind kind, char to[BUS_NAME_MAX])
{
	if (kind == EVENT_MARK || kind == EVENT_PHASE || kind == EVENT_LIMIT)
		snprintf(to, BUS_NAME_MAX, "job.%s", event_name(kind));
	else if (event_in_view(kind) || kind == EVENT_EXEC)
		snprintf(to, BUS_NAME_MAX, "process.%s", event_name(kind));
	else if (kind == EVENT_TOTALS)
		return NULL;
	else
		snprintf(to, BUS_NAME_MAX, "monitor.%s", event_name(kind));
	return to;
}

/* A job's events are its owner's business, whoever its processes are. */
static uid_t owner_of(const struct snapshot *snap, const struct event *e)
{
	return e->job >= 0 ? snap->jobs.at[e->job].uid : e->uid;
}

void announce_events(struct bus *bus, const struct snapshot *snap, struct buf *scratch)
{
	char name[BUS_NAME_MAX];

	vec_each(&snap->events, e) {
		struct json j = { .out = scratch };

		if (!name_of(e->kind, name))
			continue;
		buf_reset(scratch);
		codec_event(&j, snap, e);
		(void)bus_publish(bus,
		                  &(struct bus_event){
					  .name = name,
					  .job_id = e->job >= 0 ? snap->jobs.at[e->job].id : "",
					  .text = scratch->at,
					  .wall_ns = e->wall_ns,
					  .uid = owner_of(snap, e),
				  });
	}
}
