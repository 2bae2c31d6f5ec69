/* SPDX-License-Identifier: MIT */
#include "model/infer.h"

#include <string.h>

#define CLOCK_STEP_MIN_NS                                                                          \
	((int64_t)(500 * NS_PER_MS)) /* NTP slews stay far below this in one tick */
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

/* The lives whose beginning or end was told by an event, so that they are not told twice. */
static void collect_told(const struct sample *cur, enum event_kind kind, struct map *told)
{
	vec_each(&cur->events, e)
		if (e->kind == kind)
			map_put(told, proc_key(e->id), 1);
}

/* Not every source knows when a process began; its pid must do then. */
static bool is_told(const struct map *told, struct proc_id id)
{
	uint64_t ignored;

	return map_get(told, proc_key(id), &ignored) ||
	       map_get(told, proc_key((struct proc_id){ .pid = id.pid }), &ignored);
}

static void describe(struct event *e, const struct proc_sample *p)
{
	e->id = p->id;
	e->ppid = p->ppid;
	e->uid = p->uid;
	memcpy(e->comm, p->comm, sizeof e->comm);
}

static void conclude_spawn(const struct proc_sample *p, const struct sample *cur,
                           struct snapshot *snap)
{
	uint64_t start_ns = p->id.start_ticks * NS_PER_TICK;
	struct event *e = add_event(snap, EVENT_SPAWN, MIN(start_ns, cur->boot_ns));

	if (e)
		describe(e, p);
}

static void conclude_exit(const struct proc_sample *p, uint64_t boot_ns, struct snapshot *snap)
{
	struct event *e = add_event(snap, EVENT_EXIT, boot_ns);

	if (e)
		describe(e, p);
}

/* What was a zombie had ended before, and was told then. */
static void conclude_gone(const struct proc_sample *p, const struct map *ended, uint64_t boot_ns,
                          struct snapshot *snap)
{
	if (p->state != 'Z' && !is_told(ended, p->id))
		conclude_exit(p, boot_ns, snap);
}

void infer_lives(const struct sample *prev, const struct sample *cur, struct snapshot *snap)
{
	struct map began = { 0 }, ended = { 0 };
	size_t i = 0;

	collect_told(cur, EVENT_SPAWN, &began);
	collect_told(cur, EVENT_EXIT, &ended);
	vec_each(&cur->procs, p) {
		bool was_zombie = false, is_same = false;

		for (; i < prev->procs.len && prev->procs.at[i].id.pid < p->id.pid; i++)
			if (cur->procs_complete)
				conclude_gone(&prev->procs.at[i], &ended, cur->boot_ns, snap);
		if (i < prev->procs.len && prev->procs.at[i].id.pid == p->id.pid) {
			is_same = proc_id_eq(prev->procs.at[i].id, p->id);
			was_zombie = is_same && prev->procs.at[i].state == 'Z';
			if (!is_same) /* The pid was reused, so the old life was over when the new
			                 one began. */
				conclude_gone(&prev->procs.at[i], &ended,
				              MIN(p->id.start_ticks * NS_PER_TICK, cur->boot_ns),
				              snap);
			i++;
		}
		/* One that is older than the previous sample was hidden from it, and did not begin
		 * now. */
		if (!is_same && p->id.start_ticks * NS_PER_TICK + NS_PER_TICK > prev->boot_ns &&
		    !is_told(&began, p->id))
			conclude_spawn(p, cur, snap);
		if (p->state == 'Z' && !was_zombie && !is_told(&ended, p->id))
			conclude_exit(p, cur->boot_ns, snap);
	}
	for (; i < prev->procs.len; i++)
		if (cur->procs_complete)
			conclude_gone(&prev->procs.at[i], &ended, cur->boot_ns, snap);
	map_done(&began);
	map_done(&ended);
}
