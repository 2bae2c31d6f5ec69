/* SPDX-License-Identifier: MIT */
/* recent_events.h - the last process events, already encoded. Those of jobs are kept in a ring of their
 * own, so that other events of a busy machine do not displace them. */
#pragma once

#include "base/json.h"
#include "model/snapshot.h"

#define RECENT_EVENTS_MAX 200

struct recent_events_event {
	struct buf text;
	uint64_t wall_ns;
	uint32_t uid, process_uid; /* the users that may see it */
};

struct recent_events_ring {
	struct recent_events_event *at; /* RECENT_EVENTS_MAX of them; NULL before the first */
	uint64_t count; /* of all time; the last one is in slot (count - 1) % RECENT_EVENTS_MAX */
};

/* Initialised with zeros. */
struct recent_events {
	struct recent_events_ring of_jobs, of_others;
};

void recent_events_add(struct recent_events *r, const struct snapshot *snap);
/* Writes the last `limit` events of this user as an array, oldest first; at most
 * RECENT_EVENTS_MAX. */
#define RECENT_EVENTS_OF_ALL UINT32_MAX
void recent_events_json(struct json *j, const struct recent_events *r, uint32_t uid, size_t limit);
void recent_events_done(struct recent_events *r);
