/* SPDX-License-Identifier: MIT */
#include "serve/recent_events.h"

#include "base/mem.h"
#include "model/snapshot_json.h"
#include "serve/event_publisher.h"

static void keep_event(struct recent_events_ring *ring, const struct snapshot *snap, size_t index)
{
	const struct event *e = &snap->events.at[index];
	struct recent_events_event *slot;
	struct json j;

	if (!ring->at)
		ring->at = xcalloc(RECENT_EVENTS_MAX, sizeof *ring->at);
	slot = &ring->at[ring->count++ % RECENT_EVENTS_MAX];
	j = (struct json){ .out = &slot->text };
	buf_reset(&slot->text);
	snapshot_json_event(&j, snap, index);
	slot->wall_ns = e->wall_ns;
	slot->uid = event_publisher_owner(snap, e);
	slot->process_uid = e->uid;
}

/* Only events that stay in the ring are encoded: in a storm, the last few of thousands. */
static void add_to_ring(struct recent_events_ring *ring, const struct snapshot *snap, bool of_jobs)
{
	size_t first = snap->events.len, n = 0;

	while (first > 0 && n < RECENT_EVENTS_MAX) {
		const struct event *e = &snap->events.at[--first];

		n += event_in_view(e->kind) && (e->job >= 0) == of_jobs;
	}
	for (size_t i = first; i < snap->events.len; i++) {
		const struct event *e = &snap->events.at[i];

		if (event_in_view(e->kind) && (e->job >= 0) == of_jobs)
			keep_event(ring, snap, i);
	}
}

void recent_events_add(struct recent_events *r, const struct snapshot *snap)
{
	add_to_ring(&r->of_jobs, snap, true);
	add_to_ring(&r->of_others, snap, false);
}

/* The latest event before `*at` that this user may see; NULL: none. */
static const struct recent_events_event *find_before(const struct recent_events_ring *ring,
                                                     uint64_t *at, uint32_t uid)
{
	uint64_t oldest = ring->count - MIN(ring->count, (uint64_t)RECENT_EVENTS_MAX);

	for (; *at > oldest; --*at) {
		const struct recent_events_event *e = &ring->at[(*at - 1) % RECENT_EVENTS_MAX];

		if (uid == RECENT_EVENTS_OF_ALL || e->uid == uid || e->process_uid == uid)
			return e;
	}
	return NULL;
}

void recent_events_json(struct json *j, const struct recent_events *r, uint32_t uid, size_t limit)
{
	uint64_t jobs_at = r->of_jobs.count, others_at = r->of_others.count;
	const struct recent_events_event *found[RECENT_EVENTS_MAX];
	size_t n = 0;

	while (n < MIN(limit, (size_t)RECENT_EVENTS_MAX)) {
		const struct recent_events_event *a = find_before(&r->of_jobs, &jobs_at, uid);
		const struct recent_events_event *b = find_before(&r->of_others, &others_at, uid);
		bool takes_jobs = a && (!b || a->wall_ns >= b->wall_ns);

		if (!a && !b)
			break;
		found[n++] = takes_jobs ? a : b;
		*(takes_jobs ? &jobs_at : &others_at) -= 1;
	}
	json_begin_array(j);
	while (n-- > 0)
		json_raw(j, found[n]->text.at, found[n]->text.len);
	json_end_array(j);
}

static void ring_done(struct recent_events_ring *ring)
{
	for (size_t i = 0; ring->at && i < RECENT_EVENTS_MAX; i++)
		buf_done(&ring->at[i].text);
	free(ring->at);
}

void recent_events_done(struct recent_events *r)
{
	ring_done(&r->of_jobs);
	ring_done(&r->of_others);
	*r = (struct recent_events){ 0 };
}
