/* SPDX-License-Identifier: MIT */
#include "serve/recent.h"

#include "base/mem.h"
#include "model/codec.h"
#include "serve/announce.h"

static void keep(struct recent *r, const struct snapshot *snap, const struct event *e)
{
	struct recent_event *slot = &r->at[r->count++ % RECENT_MAX];
	struct json j = { .out = &slot->text };

	buf_reset(&slot->text);
	codec_event(&j, snap, e);
	slot->uid = announce_owner(snap, e);
}

/* Only what will be seen is made into text: in a storm that is the last few of thousands. */
static size_t first_kept(const struct snapshot *snap)
{
	size_t first = snap->events.len, n = 0;

	while (first > 0 && n < RECENT_MAX)
		n += event_in_view(snap->events.at[--first].kind);
	return first;
}

void recent_note(struct recent *r, const struct snapshot *snap)
{
	for (size_t i = first_kept(snap); i < snap->events.len; i++) {
		if (!event_in_view(snap->events.at[i].kind))
			continue;
		if (!r->at)
			r->at = xcalloc(RECENT_MAX, sizeof *r->at);
		keep(r, snap, &snap->events.at[i]);
	}
}

static bool is_for(const struct recent_event *e, uint32_t uid)
{
	return uid == RECENT_OF_ALL || e->uid == uid;
}

void recent_put(const struct recent *r, uint32_t uid, size_t limit, struct json *j)
{
	uint64_t first = r->count, oldest = r->count - MIN(r->count, (uint64_t)RECENT_MAX);

	for (size_t n = 0; first > oldest && n < limit; first--)
		n += is_for(&r->at[(first - 1) % RECENT_MAX], uid);
	json_begin_array(j);
	for (uint64_t i = first; i < r->count; i++) {
		const struct recent_event *slot = &r->at[i % RECENT_MAX];

		if (is_for(slot, uid))
			json_raw(j, slot->text.at, slot->text.len);
	}
	json_end_array(j);
}

void recent_done(struct recent *r)
{
	for (size_t i = 0; r->at && i < RECENT_MAX; i++)
		buf_done(&r->at[i].text);
	free(r->at);
	*r = (struct recent){ 0 };
}
