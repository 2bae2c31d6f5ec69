/* SPDX-License-Identifier: MIT */
#include "top/past.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "history/job_query.h"
#include "top/past_frame.h"
#include "view/format.h"

#define MOMENTS_MAX 200000
#define PAGE 5000
#define PAGES_MAX 60
#define PAST_EVENTS_MAX 50000
#define JOBS_READ_MAX 2000
#define POINTS_MAX 100000
#define SUM_AGE_NS (15 * NS_PER_S) /* of daemons that sample seldom, too */

/* A job that is not stored yet is the user's own. */
int past_only_find(struct history *r, const char *typed, uint32_t uid, struct past_only *ret,
                   struct err *err)
{
	struct job job = { .uid = uid };
	int result;

	ret->key = (struct job_key){ 0 };
	if (!*typed)
		return 0;
	result = history_find_job_id(r, uid, typed, &job, err);
	if (result < 0 && result != -ENOENT)
		return result;
	snprintf(ret->id, sizeof ret->id, "%s", result == 0 ? job.id : typed);
	ret->key = (struct job_key){ job.uid, ret->id };
	return 0;
}

bool past_only_has(const struct past_only *only, const struct event_record *e)
{
	return !only->key.id || (e->job_id && strcmp(e->job_id, only->key.id) == 0 &&
	                         (!e->has_job_uid || e->job_uid == only->key.uid));
}

int past_open(struct past *p, const struct top_options *o, struct err *err)
{
	int r;

	*p = (struct past){ 0 };
	if (!o->store)
		return err_set(err, ENOENT, "there is no store");
	r = history_open(o->store, &p->history, err);
	if (r == 0)
		r = past_only_find(p->history, o->job, o->uid, &p->only, err);
	if (r < 0)
		past_close(p);
	return r;
}

static void forget(struct past *p)
{
	vec_each(&p->events, e)
		past_event_done(e);
	vec_reset(&p->events);
	vec_reset(&p->moments);
	vec_each(&p->jobs, job) {
		map_done(&(*job)->sheets);
		vec_done(&(*job)->sums);
		free(*job);
	}
	vec_reset(&p->jobs);
}

void past_close(struct past *p)
{
	forget(p);
	vec_done(&p->events);
	vec_done(&p->jobs);
	vec_done(&p->moments);
	snapshot_done(&p->snap);
	history_close(p->history);
	p->history = NULL;
}

/* ---- what there is --------------------------------------------------------------------------- */

static int take_event(void *self, const struct event_record *e)
{
	struct past *p = self;
	struct past_event *to;

	if (!past_event_matters(e) || !past_only_has(&p->only, e))
		return 0;
	to = vec_push(&p->events, PAST_EVENTS_MAX);
	if (to)
		*to = past_event_of(e);
	return 0;
}

static int load_events(struct past *p, uint64_t since_ns, struct err *err)
{
	struct history_cursor at = { .since_ns = since_ns };
	int r = PAGE;

	for (int i = 0; i < PAGES_MAX && r == PAGE; i++)
		r = history_events(p->history, &at, PAST_EVENT_KINDS, PAGE, take_event, p, err);
	return MIN(r, 0);
}

static int take_job(void *self, const struct job *job)
{
	struct past *p = self;
	struct past_event *to;

	if (!job->ended_ns || (p->only.key.id && !job_key_eq(job_key_of(job), p->only.key)))
		return 0;
	to = vec_push(&p->events, PAST_EVENTS_MAX);
	if (to)
		*to = past_event_of_job(job);
	return 0;
}

static int compare_events(const void *a, const void *b)
{
	const struct past_event *e = a, *f = b;

	return (e->wall_ns > f->wall_ns) - (e->wall_ns < f->wall_ns);
}

int past_load(struct past *p, uint64_t since_ns, struct err *err)
{
	const struct job_filter ended = { .ended_since_ns = since_ns };
	int n;

	forget(p);
	n = history_moments(p->history, since_ns, MOMENTS_MAX, &p->moments, err);
	if (n < 0 || load_events(p, since_ns, err) < 0 ||
	    history_jobs(p->history, &ended, JOBS_READ_MAX, take_job, p, err) < 0)
		return -err->code;
	if (!n)
		return err_set(err, ENOENT, "nothing was recorded since %s", format_time(since_ns).at);
	if (p->events.len)
		qsort(p->events.at, p->events.len, sizeof *p->events.at, compare_events);
	p->at = p->moments.len - 1;
	return 0;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static int take_member(void *self, const struct process_record *r)
{
	struct past_job *job = self;

	map_put(&job->sheets, proc_key(r->id), r->sheet);
	return 0;
}

static int take_job_sum(void *self, const struct job_sum_record *r)
{
	struct past_job *job = self;
	struct past_sum *to = vec_push(&job->sums, POINTS_MAX);

	if (to)
		*to = (struct past_sum){ .wall_ns = r->wall_ns,
			                 .cpu_ratio = r->sum.cpu_ratio,
			                 .used_bytes = r->sum.used.quality != QUALITY_MISSING
			                                       ? (double)r->sum.used.value
			                                       : (double)NAN };
	return 0;
}

const struct past_job *past_find_job(struct past *p, struct job_key key)
{
	struct past_job *job, **slot;
	struct err ignored;

	vec_each(&p->jobs, known)
		if ((*known)->uid == key.uid && strcmp((*known)->id, key.id) == 0)
			return *known;
	slot = vec_push(&p->jobs, JOBS_MAX);
	if (!slot)
		return NULL;
	*slot = job = xcalloc(1, sizeof *job);
	snprintf(job->id, sizeof job->id, "%s", key.id);
	job->uid = key.uid;
	(void)!history_job_processes(p->history, key, POINTS_MAX, take_member, job, &ignored);
	(void)!history_job_sums(p->history, key, POINTS_MAX, take_job_sum, job, &ignored);
	return job;
}

const struct past_sum *past_sum_at(const struct past_job *job, uint64_t wall_ns)
{
	size_t low = 0, high = job->sums.len;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (job->sums.at[mid].wall_ns <= wall_ns + NS_PER_MS)
			low = mid + 1;
		else
			high = mid;
	}
	return low && job->sums.at[low - 1].wall_ns + SUM_AGE_NS > wall_ns ? &job->sums.at[low - 1] : NULL;
}

/* ---- where to go ----------------------------------------------------------------------------- */

bool past_step(struct past *p, long by)
{
	long last = (long)p->moments.len - 1, to = MAX(0L, MIN((long)p->at + by, last));
	bool moves = to != (long)p->at;

	p->at = (size_t)MAX(to, 0L);
	return moves;
}

bool past_goto(struct past *p, uint64_t wall_ns)
{
	size_t low = 0, high = p->moments.len;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (p->moments.at[mid].wall_ns < wall_ns)
			low = mid + 1;
		else
			high = mid;
	}
	if (!p->moments.len)
		return false;
	p->at = MIN(low, p->moments.len - 1);
	return low < p->moments.len;
}

bool past_peak(struct past *p, bool of_cpu)
{
	double most = -1;

	for (size_t i = 0; i < p->moments.len; i++) {
		double v = of_cpu ? p->moments.at[i].cpu_ratio : p->moments.at[i].used_bytes;

		if (isnan(v) || v <= most)
			continue;
		most = v;
		p->at = i;
	}
	return most >= 0;
}

bool past_trouble(struct past *p, bool is_back)
{
	uint64_t now = p->moments.at[p->at].wall_ns;
	uint64_t before = p->at ? p->moments.at[p->at - 1].wall_ns : 0;

	for (size_t i = 0; i < p->events.len; i++) {
		const struct past_event *e = &p->events.at[is_back ? p->events.len - 1 - i : i];

		if (!e->is_trouble || (is_back ? e->wall_ns > before : e->wall_ns <= now))
			continue;
		(void)past_goto(p, e->wall_ns);
		return true;
	}
	return false;
}

void past_place(const struct past *p, char *ret, size_t cap)
{
	snprintf(ret, cap, "%s of %s", format_count(p->at + 1).at, format_count(p->moments.len).at);
}

/* ---- what is seen there ---------------------------------------------------------------------- */

int past_frame(struct past *p, struct frame *ret, struct err *err)
{
	const struct history_moment *m = &p->moments.at[p->at];
	/* Times are stored rounded: a microsecond less finds it surely. */
	struct history_cursor at = { .since_ns = m->wall_ns - NS_PER_US };
	int r = history_next_snapshot(p->history, &at, &p->snap, err);

	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, ENOENT, "the snapshot of %s is gone", format_time(m->wall_ns).at);
	past_frame_fill(p, ret);
	return 0;
}

void past_trail(const struct past *p, struct top_state *s)
{
	size_t n = MIN(p->at + 1, (size_t)TOP_TRAIL);

	top_state_forget_trails(s);
	for (size_t i = p->at + 1 - n; i <= p->at; i++) {
		struct frame f = { 0 };

		f.head.cpu_ratio = p->moments.at[i].cpu_ratio;
		f.head.mem_total = p->moments.at[i].used_bytes;
		f.head.wall_ns = p->moments.at[i].wall_ns;
		top_state_note(s, &f);
	}
}

struct points {
	VEC(float) cpu, mem;
	uint64_t until_ns;
};

static void add_point(struct points *to, uint64_t wall_ns, double cpu, double mem)
{
	float *c, *m;

	if (wall_ns > to->until_ns)
		return;
	c = vec_push(&to->cpu, POINTS_MAX);
	m = c ? vec_push(&to->mem, POINTS_MAX) : NULL;
	if (!m)
		return;
	*c = (float)cpu;
	*m = (float)mem;
}

static int take_point(void *self, const struct history_point *p)
{
	add_point(self, p->wall_ns, p->cpu_ratio,
	          readings_has(&p->r, PROC_RSS) ? (double)p->r.value[PROC_RSS] : (double)NAN);
	return 0;
}

static void add_sums(const struct past_job *job, uint64_t since_ns, struct points *to)
{
	for (size_t i = 0; job && i < job->sums.len; i++)
		if (job->sums.at[i].wall_ns >= since_ns)
			add_point(to, job->sums.at[i].wall_ns, job->sums.at[i].cpu_ratio,
			          job->sums.at[i].used_bytes);
}

/* As many moments back as a trail has points. */
void past_trail_of_row(struct past *p, const struct frame *f, struct top_state *s)
{
	const struct top_row *row = top_state_row(s);
	size_t from = p->at >= TOP_TRAIL ? p->at - TOP_TRAIL : 0;
	struct history_cursor at = { .since_ns = p->moments.at[from].wall_ns };
	struct points points = { .until_ns = p->snap.wall_ns + NS_PER_MS };
	struct err ignored;

	if (!row)
		return;
	if (row->kind == TOP_ROW_PROC)
		(void)!history_process(p->history, f->procs.at[row->index].pid, HISTORY_ANY_UID, &at,
		                       TOP_TRAIL * 2, take_point, &points, &ignored);
	else if (row->kind == TOP_ROW_JOB)
		add_sums(past_find_job(p, frame_job_key(f, row->index)), at.since_ns, &points);
	if (points.cpu.len)
		top_state_set_trail(s, row->key, points.cpu.at, points.mem.at, points.cpu.len);
	vec_done(&points.cpu);
	vec_done(&points.mem);
}

int past_first_frame(const struct top_options *o, struct top_state *s, struct frame *ret,
                     struct err *err)
{
	struct past p;
	uint64_t now = clock_wall_ns();
	int r = past_open(&p, o, err);

	if (r == 0)
		r = past_load(&p, now - MIN(o->history_ns, now), err);
	if (r == 0)
		r = past_frame(&p, ret, err);
	if (r == 0) {
		s->is_past = true;
		past_place(&p, s->place, sizeof s->place);
		past_trail(&p, s);
	}
	past_close(&p);
	return r;
}
