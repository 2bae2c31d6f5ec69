/* SPDX-License-Identifier: MIT */
#include "engine/tracing.h"

#include <stdio.h>
#include <string.h>

#define TRIES 3 /* in a row, each at another tick */

void tracing_done(struct tracing *t)
{
	map_done(&t->traced);
}

static bool is_traced(const struct tracing *t, struct proc_id id)
{
	uint64_t start_ticks;

	return map_get(&t->traced, (uint64_t)id.pid, &start_ticks) && start_ticks == id.start_ticks;
}

static void add(struct tracing *t, struct proc_id id)
{
	map_put(&t->traced, (uint64_t)id.pid, id.start_ticks);
}

int tracing_begin(struct tracing *t, struct sampler *s, struct proc_id command, struct err *err)
{
	int r = sampler_trace(s, &command.pid, 1, true, err);

	if (r == 0)
		add(t, command);
	return r;
}

static void learn(struct tracing *t, const struct sample *s)
{
	uint64_t start_ticks;

	vec_each(&s->events, e) {
		if (e->kind == EVENT_SPAWN && map_get(&t->traced, (uint64_t)e->ppid, &start_ticks))
			add(t, e->id);
		else if (e->kind == EVENT_EXIT && is_traced(t, e->id))
			map_del(&t->traced, (uint64_t)e->id.pid);
	}
}

/* Skips jobs whose recorder writes into our store: counting twice would slow down every process for nothing. */
static bool is_counted_elsewhere(const struct jobs *jobs, struct proc_id id)
{
	const struct job_row *row = job_roster_get(&jobs->roster, jobs_find_process(jobs, id.pid));

	return row && row->job.is_stored_by_other;
}

static void add_focus(struct tracing *t, const struct sample *s, const struct jobs *jobs)
{
	vec_each(&s->request.focus, id)
		if (!is_counted_elsewhere(jobs, *id))
			add(t, *id);
}

/* Where ends are not reported, the dead are forgotten when they are many. */
static void forget_dead(struct tracing *t, const struct sample *s, const struct jobs *jobs)
{
	if (t->traced.len < 2 * s->request.focus.len + 64)
		return;
	map_reset(&t->traced);
	add_focus(t, s, jobs);
}

/* Whether it is another reason than the last one. */
static bool is_new_reason(struct tracing *t, const char *why)
{
	if (strcmp(t->why_not, why) == 0)
		return false;
	snprintf(t->why_not, sizeof t->why_not, "%s", why);
	return true;
}

bool tracing_follow(struct tracing *t, struct sampler *s, const struct jobs *jobs)
{
	const struct sample *sample = sampler_sample(s);
	VEC(pid_t) fresh = { 0 };
	struct err err;
	int r;

	learn(t, sample);
	vec_each(&sample->request.focus, id) {
		pid_t *pid = is_traced(t, *id) || is_counted_elsewhere(jobs, *id)
		                     ? NULL
		                     : vec_push(&fresh, PROCS_MAX);

		if (pid)
			*pid = id->pid;
	}
	r = fresh.len ? sampler_trace(s, fresh.at, fresh.len, false, &err) : 0;
	vec_done(&fresh);
	if (r == 0 || ++t->failures == TRIES) { /* traced, or given up */
		t->failures = 0;
		add_focus(t, sample, jobs);
		forget_dead(t, sample, jobs);
	}
	return r == 0 || !is_new_reason(t, err.msg);
}
