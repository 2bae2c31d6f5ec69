/* SPDX-License-Identifier: MIT */
#include "serve/event_publisher.h"

#include <stdio.h>

#include "model/record_fields.h"
#include "model/snapshot_json.h"

/* NULL: such events are not published. */
static const char *name_of(enum event_kind kind, char to[BUS_NAME_MAX])
{
	if (kind == EVENT_MARK || kind == EVENT_PHASE) /* published as they were reported */
		return NULL;
	if (kind == EVENT_LIMIT || kind == EVENT_DISK)
		snprintf(to, BUS_NAME_MAX, "job.%s", event_name(kind));
	else if (event_in_view(kind) || kind == EVENT_EXEC)
		snprintf(to, BUS_NAME_MAX, "process.%s", event_name(kind));
	else if (kind == EVENT_TOTALS || kind == EVENT_ANOMALY) /* published below, in full */
		return NULL;
	else
		snprintf(to, BUS_NAME_MAX, "monitor.%s", event_name(kind));
	return to;
}

uid_t event_publisher_owner(const struct snapshot *snap, const struct event *e)
{
	return e->job >= 0 ? snap->jobs.at[e->job].uid : e->uid;
}

static uid_t uid_of_process(const struct snapshot *snap, const struct anomaly *a)
{
	const struct proc_snap *p = a->id.pid ? snapshot_find(snap, a->id.pid) : NULL;

	return p && proc_id_eq(p->s.id, a->id) ? p->s.uid : 0;
}

static void publish_anomaly(struct bus *bus, const struct snapshot *snap, const struct anomaly *a,
                            struct buf *scratch)
{
	cleanup(buf_done) struct buf text = { 0 };
	struct anomaly_record record = history_record_of_anomaly(a, snap, &text);
	uid_t process_uid = uid_of_process(snap, a);
	struct json j = { .out = scratch };

	buf_reset(scratch);
	field_table_json_object(&j, &anomaly_fields, &record);
	(void)bus_publish(bus, &(struct bus_event){ .name = "monitor.anomaly",
	                                            .job_id = record.job_id ? record.job_id : "",
	                                            .text = scratch->at,
	                                            .wall_ns = snap->wall_ns,
	                                            .sheet = record.sheet,
	                                            .uid = a->job >= 0 ? snap->jobs.at[a->job].uid
	                                                               : process_uid,
	                                            .process_uid = process_uid });
}

void event_publisher_publish(struct bus *bus, const struct snapshot *snap, struct buf *scratch)
{
	char name[BUS_NAME_MAX];

	for (size_t i = 0; i < snap->events.len; i++) {
		const struct event *e = &snap->events.at[i];
		struct json j = { .out = scratch };

		if (!name_of(e->kind, name))
			continue;
		buf_reset(scratch);
		snapshot_json_event(&j, snap, i);
		(void)bus_publish(bus,
		                  &(struct bus_event){
					  .name = name,
					  .job_id = e->job >= 0 ? snap->jobs.at[e->job].id : "",
					  .text = scratch->at,
					  .wall_ns = e->wall_ns,
					  .sheet = e->job >= 0 ? e->sheet : 0,
					  .uid = event_publisher_owner(snap, e),
					  .process_uid = e->uid,
				  });
	}
	vec_each(&snap->anomalies, a)
		if (a->news == ANOMALY_BEGAN || a->news == ANOMALY_ENDED)
			publish_anomaly(bus, snap, a, scratch);
}
