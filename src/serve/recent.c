/* SPDX-License-Identifier: MIT */
#include "serve/recent.h"

#include "base/mem.h"
#include "model/codec.h"

static void keep(struct recent *r, const struct snapshot *snap, const struct event *e)
{
	struct buf *slot = &r->at[r->count++ % RECENT_MAX];
	struct json j = { .out = slot };

	buf_reset(slot);
	codec_event(&j, snap, e);
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

void recent_put(const struct recent *r, size_t limit, struct json *j)
{
	uint64_t n = MIN(MIN(r->count, (uint64_t)RECENT_MAX), (uint64_t)limit);

	json_begin_array(j);
	for (uint64_t i = r->count - n; i < r->count; i++) {
		const struct buf *slot = &r->at[i % RECENT_MAX];

		json_raw(j, slot->at, slot->len);
	}
	json_end_array(j);
}

void recent_done(struct recent *r)
{
	for (size_t i = 0; r->at && i < RECENT_MAX; i++)
		buf_done(&r->at[i]);
	free(r->at);
	*r = (struct recent){ 0 };
}
