/* SPDX-License-Identifier: MIT */
#include "serve/visible_snapshot.h"

#include "model/snapshot_json.h"

#define TEXT_MAX ((size_t)32 << 20)

void visible_snapshot_put(struct visible_snapshot *s, const struct snapshot *snap, struct json *j)
{
	struct json text = { .out = &s->text };

	if (s->text_seq != snap->seq || !s->text.len) {
		buf_relax(&s->text);
		s->text.max = TEXT_MAX;
		snapshot_json(&text, snap);
		s->text_seq = snap->seq;
	}
	if (s->text.full) /* half of it is no JSON */
		j->out->full = true;
	else
		json_raw(j, s->text.at, s->text.len);
}

static bool has_job(void *self, const struct job *job)
{
	return job->uid == *(const uid_t *)self;
}

/* A process of his in somebody else's job is his, and so is everything in a job of his. */
static bool has_process(void *self, const struct job *job, uint32_t uid)
{
	return uid == *(const uid_t *)self || (job && has_job(self, job));
}

const struct snapshot *visible_snapshot_part(struct visible_snapshot *s,
                                             const struct snapshot *snap, uid_t uid)
{
	const struct snapshot_scope his = { &uid, has_job, has_process };

	if (s->part_seq == snap->seq && s->part_uid == uid)
		return &s->part;
	snapshot_copy(snap, &s->part);
	snapshot_keep(&s->part, &his);
	s->part_seq = snap->seq;
	s->part_uid = uid;
	return &s->part;
}

void visible_snapshot_done(struct visible_snapshot *s)
{
	buf_done(&s->text);
	snapshot_done(&s->part);
	*s = (struct visible_snapshot){ 0 };
}
