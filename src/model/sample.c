/* SPDX-License-Identifier: MIT */
#include "model/sample.h"

#include <stdlib.h>

void sample_reset(struct sample *s)
{
	struct sample kept = { .text = s->text, .request.focus = s->request.focus };

	buf_relax(&kept.text);
	vec_relax(&kept.request.focus);
#define X(container, name)                                                                         \
	kept.name = s->name;                                                                       \
	vec_relax(&kept.name);
	SAMPLE_LISTS(X)
#undef X
	*s = kept;
}

void sample_done(struct sample *s)
{
#define X(container, name) vec_done(&s->name);
	SAMPLE_LISTS(X)
#undef X
	vec_done(&s->request.focus);
	buf_done(&s->text);
}

struct event *sample_add_event(struct sample *s, enum event_kind kind)
{
	struct event *e = vec_push(&s->events, EVENTS_MAX);

	if (!e) {
		s->events_complete = false;
		return NULL;
	}
	e->kind = kind;
	e->job = -1;
	return e;
}

void sample_put_event(struct sample *s, const struct event *event)
{
	struct event *e = sample_add_event(s, event->kind);

	if (e)
		*e = *event;
}

struct proc_sample *sample_add_proc(struct sample *s)
{
	struct proc_sample *p = vec_push(&s->procs, PROCS_MAX);

	if (!p)
		s->procs_complete = false;
	return p;
}

static int by_pid(const void *a, const void *b)
{
	const struct proc_sample *x = a, *y = b;

	return (x->id.pid > y->id.pid) - (x->id.pid < y->id.pid);
}

/* If a pid was read twice for two processes, the later one exists now. */
static void drop_doubles(struct sample *s)
{
	size_t kept = 0;

	vec_each(&s->procs, p) {
		struct proc_sample *last = kept ? &s->procs.at[kept - 1] : NULL;

		if (!last || last->id.pid != p->id.pid)
			s->procs.at[kept++] = *p;
		else if (last->id.start_ticks < p->id.start_ticks)
			*last = *p;
	}
	s->procs.len = kept;
}

void sample_sort_procs(struct sample *s)
{
	for (size_t i = 1; i < s->procs.len; i++) {
		if (s->procs.at[i - 1].id.pid >= s->procs.at[i].id.pid) {
			qsort(s->procs.at, s->procs.len, sizeof *s->procs.at, by_pid);
			drop_doubles(s);
			return;
		}
	}
}

struct proc_sample *sample_find_proc(const struct sample *s, pid_t pid)
{
	struct proc_sample key = { .id.pid = pid };

	if (!s->procs.len)
		return NULL;
	return bsearch(&key, s->procs.at, s->procs.len, sizeof *s->procs.at, by_pid);
}

struct text_ref sample_add_text(struct sample *s, const char *text, size_t len)
{
	struct text_ref ref = { .at = (uint32_t)s->text.len, .len = (uint32_t)len };

	if (!buf_put(&s->text, text, len))
		return (struct text_ref){ 0 };
	return ref;
}
