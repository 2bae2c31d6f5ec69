/* SPDX-License-Identifier: MIT */
#include "serve/recent_events.h"

#include "base/mem.h"
#include "model/snapshot_json.h"
#include "serve/event_publisher.h"

static const struct recent_events_event *last_of(const struct recent_events_ring *ring)
{
	return &ring->at[(ring->count - 1) % RECENT_EVENTS_MAX];
}

/* There is one at least. */
static struct recent_events_ring *oldest_ring(struct recent_events *r)
{
	size_t oldest = 0;

	for (size_t i = 1; i < r->rings.len; i++)
		if (last_of(&r->rings.at[i])->wall_ns < last_of(&r->rings.at[oldest])->wall_ns)
			oldest = i;
	r->rings.at[oldest].count = r->rings.at[oldest].read = 0;
	return &r->rings.at[oldest];
}

static struct recent_events_ring *ring_of(struct recent_events *r, uint32_t uid)
{
	struct recent_events_ring *ring;

	vec_each(&r->rings, known)
		if (known->uid == uid)
			return known;
	ring = vec_push(&r->rings, RECENT_EVENTS_USERS_MAX);
	if (ring)
		*ring = (struct recent_events_ring){ .at = xcalloc(RECENT_EVENTS_MAX,
			                                           sizeof *ring->at) };
	else
		ring = oldest_ring(r);
	ring->uid = uid;
	return ring;
}

/* Records of ends may come late: the last event moves to its place among those before. */
static void sort_last(struct recent_events_ring *ring)
{
	uint64_t kept = MIN(ring->count, (uint64_t)RECENT_EVENTS_MAX);

	for (uint64_t i = ring->count - 1; i > ring->count - kept; i--) {
		struct recent_events_event *last = &ring->at[i % RECENT_EVENTS_MAX],
					   *before = &ring->at[(i - 1) % RECENT_EVENTS_MAX],
					   swapped = *last;

		if (before->wall_ns <= last->wall_ns)
			return;
		*last = *before;
		*before = swapped;
	}
}

static void keep_event(struct recent_events_ring *ring, const struct snapshot *snap, size_t index,
                       bool is_copy)
{
	struct recent_events_event *slot = &ring->at[ring->count++ % RECENT_EVENTS_MAX];
	struct json j = { .out = &slot->text };

	buf_reset(&slot->text);
	snapshot_json_event(&j, snap, index);
	slot->wall_ns = snap->events.at[index].wall_ns;
	slot->is_copy = is_copy;
	sort_last(ring);
}

static void add_event(struct recent_events *r, const struct snapshot *snap, size_t index)
{
	const struct event *e = &snap->events.at[index];
	uint32_t owner = event_publisher_owner(snap, e);

	keep_event(ring_of(r, owner), snap, index, false);
	if (e->uid != owner)
		keep_event(ring_of(r, e->uid), snap, index, true);
}

/* Whether the ring has room for one more event of this snapshot, counted from the last one. */
static bool wants(struct recent_events_ring *ring)
{
	return ring->read++ < RECENT_EVENTS_MAX;
}

/* Not other signals: a timer may send a thousand a second. */
static bool is_notable(const struct event *e)
{
	const uint64_t kinds = UINT64_C(1) << EVENT_KILL | UINT64_C(1) << EVENT_OOM |
	                       UINT64_C(1) << EVENT_MARK | UINT64_C(1) << EVENT_PHASE |
	                       UINT64_C(1) << EVENT_LIMIT | UINT64_C(1) << EVENT_DISK;

	return e->kind == EVENT_EXIT ? e->signal != 0 : kinds >> e->kind & 1;
}

/* Only events that stay in a ring are encoded: in a storm, the last few of thousands. */
void recent_events_add(struct recent_events *r, const struct snapshot *snap)
{
	vec_each(&r->rings, ring)
		ring->read = 0;
	vec_reset(&r->kept);
	for (size_t i = snap->events.len; i-- > 0;) {
		const struct event *e = &snap->events.at[i];
		bool is_wanted;
		size_t *slot;

		if (e->job < 0 || !(r->is_notable ? is_notable(e) : event_in_view(e->kind)))
			continue;
		is_wanted = wants(ring_of(r, event_publisher_owner(snap, e)));
		if (e->uid != event_publisher_owner(snap, e))
			is_wanted |= wants(ring_of(r, e->uid));
		slot = is_wanted ? vec_push(&r->kept, PROCS_MAX) : NULL;
		if (slot)
			*slot = i;
	}
	for (size_t i = r->kept.len; i-- > 0;)
		add_event(r, snap, r->kept.at[i]);
}

/* The latest event of the ring that was not taken yet; NULL: none. All see no copies. */
static const struct recent_events_event *peek(struct recent_events_ring *ring, bool of_all)
{
	uint64_t kept = MIN(ring->count, (uint64_t)RECENT_EVENTS_MAX);

	for (; ring->read < kept; ring->read++) {
		const struct recent_events_event *e =
			&ring->at[(ring->count - 1 - ring->read) % RECENT_EVENTS_MAX];

		if (!of_all || !e->is_copy)
			return e;
	}
	return NULL;
}

static const struct recent_events_event *take_latest(struct recent_events *r, uint32_t uid)
{
	bool of_all = uid == RECENT_EVENTS_OF_ALL;
	const struct recent_events_event *latest = NULL;
	struct recent_events_ring *from = NULL;

	vec_each(&r->rings, ring) {
		const struct recent_events_event *e = of_all || ring->uid == uid
		                                              ? peek(ring, of_all)
		                                              : NULL;

		if (!e || (latest && e->wall_ns <= latest->wall_ns))
			continue;
		latest = e;
		from = ring;
	}
	if (from)
		from->read++;
	return latest;
}

void recent_events_json(struct json *j, struct recent_events *r, uint32_t uid, size_t limit)
{
	const struct recent_events_event *found[RECENT_EVENTS_MAX];
	size_t n = 0;

	vec_each(&r->rings, ring)
		ring->read = 0;
	while (n < MIN(limit, (size_t)RECENT_EVENTS_MAX)) {
		found[n] = take_latest(r, uid);
		if (!found[n])
			break;
		n++;
	}
	json_begin_array(j);
	while (n-- > 0)
		json_raw(j, found[n]->text.at, found[n]->text.len);
	json_end_array(j);
}

void recent_events_done(struct recent_events *r)
{
	vec_each(&r->rings, ring) {
		for (size_t i = 0; i < RECENT_EVENTS_MAX; i++)
			buf_done(&ring->at[i].text);
		free(ring->at);
	}
	vec_done(&r->rings);
	vec_done(&r->kept);
}
