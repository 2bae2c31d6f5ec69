/* SPDX-License-Identifier: MIT */
#include "engine/pipeline.h"

static unsigned kind_of(const struct snapshot *snap)
{
	return snap->events_only ? ON_FLUSHES : ON_TICKS;
}

const struct snapshot *pipeline_complete(const struct pipeline *p, struct snapshot *take_snap)
{
	for (const struct stage *stage = p->stages; stage->name; stage++)
		if (stage->runs_on & kind_of(take_snap))
			stage->run(stage->self, take_snap);
	return snapshot_freeze(take_snap);
}

void pipeline_hand_out(const struct pipeline *p, const struct snapshot *snap)
{
	for (const struct sink *sink = p->sinks; sink->name; sink++)
		if (sink->runs_on & kind_of(snap))
			sink->take(sink->self, snap);
}

bool pipeline_has_room(const struct pipeline *p)
{
	for (const struct sink *sink = p->sinks; sink->name; sink++)
		if (sink->has_room && !sink->has_room(sink->self))
			return false;
	return true;
}

bool pipeline_wants_outcomes(const struct pipeline *p)
{
	for (const struct sink *sink = p->sinks; sink->name; sink++)
		if (sink->outcome)
			return true;
	return false;
}

void pipeline_report_outcome(const struct pipeline *p, const struct snapshot *snap, bool is_stored)
{
	for (const struct sink *sink = p->sinks; sink->name; sink++)
		if (sink->outcome)
			sink->outcome(sink->self, snap, is_stored);
}
