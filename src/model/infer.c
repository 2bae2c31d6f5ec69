/* SPDX-License-Identifier: MIT */
#include "model/infer.h"

#include <string.h>

/* NTP slews stay far below this in one tick. */
#define CLOCK_STEP_MIN_NS ((int64_t)(500 * NS_PER_MS))
#define SUSPEND_MIN_NS ((int64_t)(500 * NS_PER_MS))

static struct event *add_event(struct snapshot *snap, enum event_kind kind, uint64_t boot_ns)
{
	struct event *e = vec_push(&snap->events, EVENTS_MAX);

	if (!e)
		return NULL;
	e->kind = kind;
	e->boot_ns = boot_ns;
	e->inferred = true;
	e->job = -1;
	return e;
}

static void add_jump(struct snapshot *snap, enum event_kind kind, uint64_t boot_ns, int64_t by_ns)
{
	struct event *e = add_event(snap, kind, boot_ns);

	if (e)
		e->count = by_ns;
}

static void add_life_event(struct snapshot *snap, enum event_kind kind, const struct proc_sample *p,
                           uint64_t boot_ns)
{
	struct event *e = add_event(snap, kind, boot_ns);

	if (!e)
		return;
	e->id = p->id;
	e->ppid = p->ppid;
	e->uid = p->uid;
	memcpy(e->comm, p->comm, sizeof e->comm);
}

void infer_clocks(const struct sample *prev, const struct sample *cur, struct snapshot *snap)
{
	int64_t boot = (int64_t)(cur->boot_ns - prev->boot_ns);
	int64_t step = (int64_t)(cur->wall_ns - prev->wall_ns) - boot;
	int64_t asleep = boot - (int64_t)(cur->mono_ns - prev->mono_ns);

	if (step >= CLOCK_STEP_MIN_NS || step <= -CLOCK_STEP_MIN_NS)
		add_jump(snap, EVENT_CLOCK_STEP, cur->boot_ns, step);
	if (asleep >= SUSPEND_MIN_NS)
		add_jump(snap, EVENT_SUSPEND, cur->boot_ns, asleep);
}

/* The processes whose start or end an event reported, so that it is not reported twice. */
static struct map reported(const struct sample *cur, enum event_kind kind)
{
	struct map ids = { 0 };

	vec_each(&cur->events, e)
		if (e->kind == kind)
			map_put(&ids, proc_key(e->id), 1);
	return ids;
}

/* Not every source knows when a process began; then its pid has to do. */
static bool has_process(const struct map *ids, struct proc_id id)
{
	uint64_t ignored;

	return map_get(ids, proc_key(id), &ignored) ||
	       map_get(ids, proc_key((struct proc_id){ .pid = id.pid }), &ignored);
}

/* A zombie had ended before, and was reported then. */
static void infer_end(const struct proc_sample *p, const struct map *ended, uint64_t boot_ns,
                      struct snapshot *snap)
{
	if (p->state != 'Z' && !has_process(ended, p->id))
		add_life_event(snap, EVENT_EXIT, p, boot_ns);
}

void infer_births_and_ends(const struct sample *prev, const struct sample *cur,
                           struct snapshot *snap)
{
	struct map began = reported(cur, EVENT_SPAWN), ended = reported(cur, EVENT_EXIT);
	size_t i = 0, n = prev->procs.len;

	vec_each(&cur->procs, p) {
		uint64_t start_ns = p->id.start_ticks * NS_PER_TICK;
		const struct proc_sample *before = NULL;

		for (; i < n && prev->procs.at[i].id.pid < p->id.pid; i++)
			if (cur->procs_complete)
				infer_end(&prev->procs.at[i], &ended, cur->boot_ns, snap);
		if (i < n && prev->procs.at[i].id.pid == p->id.pid)
			before = &prev->procs.at[i++];
		if (before && !proc_id_eq(before->id, p->id)) {
			/* The pid was reused: the old process had ended when the new one began. */
			infer_end(before, &ended, MIN(start_ns, cur->boot_ns), snap);
			before = NULL;
		}
		/* One that is older than the previous sample was hidden from it, and did not begin
		 * now. */
		if (!before && start_ns + NS_PER_TICK > prev->boot_ns &&
		    !has_process(&began, p->id))
			add_life_event(snap, EVENT_SPAWN, p, MIN(start_ns, cur->boot_ns));
		if (p->state == 'Z' && !(before && before->state == 'Z') &&
		    !has_process(&ended, p->id))
			add_life_event(snap, EVENT_EXIT, p, cur->boot_ns);
	}
	for (; i < n && cur->procs_complete; i++)
		infer_end(&prev->procs.at[i], &ended, cur->boot_ns, snap);
	map_done(&began);
	map_done(&ended);
}
