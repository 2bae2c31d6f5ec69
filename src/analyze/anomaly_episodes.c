/* SPDX-License-Identifier: MIT */
#include "analyze/anomaly_episodes.h"

#include <math.h>

#define CHANGE_LEAST 0.1 /* of the reported peak: a smaller change is not reported */

static job_handle handle_of(const struct snapshot *snap, int32_t job)
{
	return job >= 0 && (size_t)job < snap->jobs.len ? snap->jobs.at[job].handle : -1;
}

/* One of a job may name another of its processes from tick to tick. */
static struct episode *find(const struct episodes *e, const struct finding *f,
                            const struct snapshot *snap)
{
	bool is_of_job = anomaly_kinds[f->kind].scope == ANOMALY_OF_JOB;

	vec_each(&e->open, one)
		if (one->a.kind == f->kind && (is_of_job ? one->job == handle_of(snap, f->job)
		                                         : proc_id_eq(one->a.id, f->id)))
			return one;
	return NULL;
}

static struct episode *begin(struct episodes *e, const struct finding *f,
                             const struct snapshot *snap)
{
	struct episode *one = vec_push(&e->open, EPISODES_MAX);

	if (!one) {
		e->dropped++;
		return NULL;
	}
	one->a = (struct anomaly){
		.seq = ++e->seq,
		.kind = f->kind,
		.severity = f->severity,
		.news = ANOMALY_BEGAN,
		.id = f->id,
		.began_wall_ns = snap->wall_ns,
		.began_boot_ns = snap->boot_ns,
		.peak_boot_ns = snap->boot_ns,
		.value = f->value,
		.peak = f->value,
		.threshold = f->threshold,
		.base = f->base,
		.base_boot_ns = f->base_boot_ns,
		.runs = f->runs,
	};
	one->reported_peak = f->value;
	return one;
}

static void follow(struct episode *one, const struct finding *f, const struct snapshot *snap)
{
	struct anomaly *a = &one->a;
	bool is_worse = anomaly_kinds[a->kind].less_is_worse ? f->value < a->peak
	                                                     : f->value > a->peak;

	a->news = ANOMALY_SAME;
	if (is_worse) {
		a->peak = f->value;
		a->peak_boot_ns = snap->boot_ns;
	}
	if (f->severity > a->severity ||
	    fabs(a->peak - one->reported_peak) > CHANGE_LEAST * fabs(one->reported_peak))
		a->news = ANOMALY_CHANGED;
	a->severity = MAX(a->severity, f->severity);
	if (a->news == ANOMALY_CHANGED)
		one->reported_peak = a->peak;
}

static void add_finding(struct episodes *e, const struct finding *f, const struct snapshot *snap)
{
	struct episode *one = find(e, f, snap);

	if (one)
		follow(one, f, snap);
	else
		one = begin(e, f, snap);
	if (!one)
		return;
	one->is_found = true;
	one->a.seen_boot_ns = snap->boot_ns;
	one->a.job = f->job; /* it may have been found to belong to one */
	one->job = handle_of(snap, f->job);
	one->a.sheet = f->sheet;
	one->a.id = f->id;
	one->a.other = f->other;
	memcpy(one->a.text, f->text, sizeof one->a.text);
	memcpy(one->a.comm, f->comm, sizeof one->a.comm);
}

static void append_anomaly(struct anomaly_list *to, const struct anomaly *a)
{
	struct anomaly *copy = vec_push(to, 2 * EPISODES_MAX);

	if (copy)
		*copy = *a;
}

static void end(struct episode *one, const struct snapshot *snap, struct anomaly_list *ret)
{
	one->a.news = ANOMALY_ENDED;
	one->a.job = snapshot_find_job(snap, one->job);
	one->a.ended_wall_ns = MAX(snap->wall_ns, one->a.began_wall_ns); /* clocks are set back */
	append_anomaly(ret, &one->a);
}

void anomaly_episodes_feed(struct episodes *e, const struct findings *found,
                           const struct snapshot *snap, struct anomaly_list *ret)
{
	size_t kept = 0;

	if (snap->events_only)
		return;
	vec_each(&e->open, one)
		one->is_found = false;
	vec_each(found, f)
		add_finding(e, f, snap);
	vec_each(&e->open, one) {
		if (!one->is_found) {
			end(one, snap, ret);
			continue;
		}
		append_anomaly(ret, &one->a);
		e->open.at[kept++] = *one;
	}
	e->open.len = kept;
}

void anomaly_episodes_end(struct episodes *e, const struct snapshot *snap, struct anomaly_list *ret)
{
	vec_each(&e->open, one)
		end(one, snap, ret);
	vec_reset(&e->open);
}

void anomaly_episodes_done(struct episodes *e)
{
	vec_done(&e->open);
}
