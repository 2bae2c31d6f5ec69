/* SPDX-License-Identifier: MIT */
#include "model/history_record.h"

struct event_record event_record_of(const struct event *e, const struct snapshot *snap,
                                    struct buf *text)
{
	bool has_job = e->job >= 0;

	buf_reset(text);
	event_details(e, snap->text.at, text);
	return (struct event_record){
		.kind = e->kind,
		.inferred = e->inferred,
		.wall_ns = e->wall_ns,
		.process = e->id,
		.has_exit_code = e->has_exit_code,
		.exit_code = e->exit_code,
		.signal = e->signal,
		.job_id = has_job ? snap->jobs.at[e->job].id : NULL,
		.sheet = has_job ? e->sheet : 0,
		.count = e->count,
		.details = text->at,
	};
}

struct anomaly_record anomaly_record_of(const struct anomaly *a, const struct snapshot *snap,
                                        struct buf *text)
{
	bool has_job = a->job >= 0 && (size_t)a->job < snap->jobs.len;

	buf_reset(text);
	anomaly_describe(a, text);
	return (struct anomaly_record){
		.kind = anomaly_kinds[a->kind].key,
		.severity = a->severity,
		.process = a->id,
		.job_id = has_job ? snap->jobs.at[a->job].id : NULL,
		.sheet = has_job ? a->sheet : 0,
		.began_ns = a->began_wall_ns,
		.ended_ns = a->ended_wall_ns,
		.value = anomaly_shown(a->kind, a->value),
		.peak = anomaly_shown(a->kind, a->peak),
		.threshold = anomaly_shown(a->kind, a->threshold),
		.description = text->at,
	};
}

void job_profile_done(struct job_profile *p)
{
	vec_done(&p->sheets);
}
