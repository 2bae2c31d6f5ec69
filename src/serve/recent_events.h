/* SPDX-License-Identifier: MIT */
/* recent_events.h - the last events of jobs, already encoded: those of processes, or the notable ones. Each user has a ring of its own, so that
 * the jobs of others do not displace its events. */
#pragma once

#include "base/json.h"
#include "base/vec.h"
#include "model/snapshot.h"

#define RECENT_EVENTS_MAX 200
#define RECENT_EVENTS_USERS_MAX 256 /* then the ring that was used least recently is taken */

struct recent_events_event {
	struct buf text;
	uint64_t wall_ns;
	bool is_copy; /* of one in the ring of the job's user */
};

struct recent_events_ring {
	uint32_t uid;
	struct recent_events_event *at; /* RECENT_EVENTS_MAX of them */
	uint64_t count; /* of all time; the last one is in slot (count - 1) % RECENT_EVENTS_MAX */
	uint64_t read;  /* scratch: how many of the latest were taken */
};

/* Initialised with zeros. */
struct recent_events {
	bool is_notable; /* kills, deaths, marks, phases and limits, which births and ends would displace; else process events */
	VEC(struct recent_events_ring) rings;
	VEC(size_t) kept; /* scratch: of one snapshot, the last one first */
};

void recent_events_add(struct recent_events *r, const struct snapshot *snap);
/* Writes the last `limit` events of this user's jobs, and of its processes in other jobs, as an array,
 * oldest first; at most RECENT_EVENTS_MAX. */
#define RECENT_EVENTS_OF_ALL UINT32_MAX
void recent_events_json(struct json *j, struct recent_events *r, uint32_t uid, size_t limit);
void recent_events_done(struct recent_events *r);
