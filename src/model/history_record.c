/* SPDX-License-Identifier: MIT */
#include "model/history_record.h"

#include <math.h>

enum quality share_quality(double ratio)
{
	return isfinite(ratio) ? QUALITY_SAMPLED : QUALITY_MISSING;
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
