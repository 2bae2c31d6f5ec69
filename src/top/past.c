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
#define JOBS_READ_MAX 2000
#define POINTS_MAX 100000
#define ANOMALIES_MAX 1000
#define NEXT_NS (60 * NS_PER_S)    /* until the next moment, from an event on */
#define SUM_AGE_NS (15 * NS_PER_S) /* of daemons that sample seldom, too */

bool past_has_event(struct job_key only, const struct event_record *e)
{
	return !only.id || (e->job_id && strcmp(e->job_id, only.id) == 0 &&
	                    (!e->has_job_uid || e->job_uid == only.uid));
}

static bool has_job(void *self, const struct job *job)
{
	const struct job_key *only = self;

	return job_key_eq(job_key_of(job), *only);
}

static bool has_process(void *self, const struct job *job, uint32_t uid)
{
	(void)uid;
	return job && has_job(self, job);
}

struct snapshot_scope past_scope(const struct job_key *job)
{
	return (struct snapshot_scope){ .self = (void *)(uintptr_t)job,
		                        .has_job = has_job,
		                        .has_process = has_process };
}

int past_open(struct past *p, const struct top_options *o, struct err *err)
{
	*p = (struct past){ .only = o->job };
	if (!o->store)
		return err_set(err, ENOENT, "there is no store");
	return history_open(o->store, &p->history, err);
}

static void free_job(struct past_job *job)
{
	map_done(&job->sheets);
	vec_done(&job->sums);
	vec_each(&job->anomalies, a)
		free(a->what);
	vec_done(&job->anomalies);
	free(job);
}

static void forget(struct past *p)
{
	frame_reset(&p->log);
	vec_reset(&p->moments);
	vec_each(&p->jobs, job)
		free_job(*job);
	vec_reset(&p->jobs);
}

void past_close(struct past *p)
{
	forget(p);
	frame_done(&p->log);
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

	if (past_has_event(p->only, e))
		frame_add_event(&p->log, e);
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

struct job_name {
	uint32_t uid;
	char id[JOB_ID_MAX];
};

struct job_names {
	VEC(struct job_name) list;
};

static int take_name(void *self, const struct job *job)
{
	struct job_names *names = self;
	struct job_name *to = vec_push(&names->list, JOBS_READ_MAX);

	if (!to)
		return 0;
	to->uid = job->uid;
	snprintf(to->id, sizeof to->id, "%s", job->id);
	return 0;
}

/* Those that ran at some time since then. */
static int load_jobs(struct past *p, uint64_t since_ns, struct err *err)
{
	const struct job_filter filters[] = { { .ended_since_ns = since_ns },
		                              { .outcome = "running" },
		                              { .outcome = "lost", .since_ns = since_ns } };
	struct job_names names = { 0 };
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(filters); i++)
		r = history_jobs(p->history, &filters[i], JOBS_READ_MAX, take_name, &names, err);
	vec_each(&names.list, name) {
		const struct job_key key = { name->uid, name->id };

		if ((!p->only.id || job_key_eq(key, p->only)) && frame_find_job(&p->log, key) < 0)
			past_frame_add_job(p, key, UINT64_MAX, &p->log);
	}
	vec_done(&names.list);
	return MIN(r, 0);
}

/* The moment, and the time at which it is shown. */
static void show_moment(struct past *p, size_t at)
{
	p->at = at;
	p->now_ns = p->moments.at[at].wall_ns;
}

/* The first moment that is not earlier; moments.len: none. */
static size_t find_moment(const struct past *p, uint64_t wall_ns)
{
	size_t low = 0, high = p->moments.len;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (p->moments.at[mid].wall_ns < wall_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The latest; of a job that has ended, the latest in which it ran. */
static void show_latest(struct past *p)
{
	int32_t job = p->only.id ? frame_find_job(&p->log, p->only) : -1;
	uint64_t ended_ns = job >= 0 ? p->log.jobs.at[job].ended_ns : 0;
	size_t after = ended_ns ? find_moment(p, ended_ns) : p->moments.len;

	show_moment(p, MAX(after, (size_t)1) - 1);
}

int past_load(struct past *p, uint64_t since_ns, struct err *err)
{
	int n;

	forget(p);
	n = history_moments(p->history, since_ns, MOMENTS_MAX, &p->moments, err);
	if (n < 0 || load_jobs(p, since_ns, err) < 0)
		return -err->code;
	if (!n)
		return err_set(
			err, ENOENT,
			"nothing was recorded since %s: go further back, or record with: proctor daemon",
			format_time(since_ns).at);
	frame_add_jobs(&p->log);
	if (load_events(p, since_ns, err) < 0)
		return -err->code;
	frame_add_sheets(&p->log);
	frame_complete(&p->log, NULL);
	show_latest(p);
	return 0;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static int take_member(void *self, const struct process_record *r)
{
	struct past_job *job = self;

	map_put(&job->sheets, proc_key(r->id), r->sheet);
	return 0;
}

static double value_of(struct figure f)
{
	return figure_is_known(f) ? (double)f.value : (double)NAN;
}

static int take_job_sum(void *self, const struct job_sum_record *r)
{
	struct past_job *job = self;
	struct past_sum *to = vec_push(&job->sums, POINTS_MAX);
	const struct past_sum *before = to && job->sums.len > 1 ? to - 1 : NULL;

	if (!to)
		return 0;
	*to = (struct past_sum){ .wall_ns = r->wall_ns,
		                 .cpu_ratio = r->sum.cpu_ratio,
		                 .used_bytes = value_of(r->sum.used),
		                 .io_bytes = value_of(r->sum.read) + value_of(r->sum.written),
		                 .io_bps = NAN };
	if (before && to->wall_ns > before->wall_ns && to->io_bytes >= before->io_bytes)
		to->io_bps = (to->io_bytes - before->io_bytes) * 1e9 /
		             (double)(to->wall_ns - before->wall_ns);
	return 0;
}

static int take_anomaly(void *self, const struct anomaly_record *a)
{
	struct past_job *job = self;
	struct past_anomaly *to = a->job_id ? vec_push(&job->anomalies, ANOMALIES_MAX) : NULL;

	if (to)
		*to = (struct past_anomaly){ .began_ns = a->began_ns,
			                     .ended_ns = a->ended_ns,
			                     .process = a->process,
			                     .severity = a->severity,
			                     .what = xstrdup(a->description ? a->description
			                                                    : "") };
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
	(void)!history_job_anomalies(p->history, key, ANOMALIES_MAX, take_anomaly, job, &ignored);
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

	show_moment(p, (size_t)MAX(to, 0L));
	return moves;
}

bool past_goto(struct past *p, uint64_t wall_ns)
{
	size_t at = find_moment(p, wall_ns);

	if (!p->moments.len)
		return false;
	show_moment(p, MIN(at, p->moments.len - 1));
	return at < p->moments.len;
}

/* The only job's, or else the machine's. */
static double value_at(const struct past *p, const struct past_job *job, size_t i, bool of_cpu)
{
	const struct past_sum *sum = job ? past_sum_at(job, p->moments.at[i].wall_ns) : NULL;

	if (job)
		return !sum ? (double)NAN : of_cpu ? sum->cpu_ratio : sum->used_bytes;
	return of_cpu ? p->moments.at[i].cpu_ratio : p->moments.at[i].used_bytes;
}

bool past_peak(struct past *p, bool of_cpu)
{
	const struct past_job *job = p->only.id ? past_find_job(p, p->only) : NULL;
	double most = -1;

	for (size_t i = 0; i < p->moments.len; i++) {
		double v = value_at(p, job, i, of_cpu);

		if (isnan(v) || v <= most)
			continue;
		most = v;
		show_moment(p, i);
	}
	return most >= 0;
}

/* Where an event is seen: at the next moment; if nothing was recorded for a while, at the one before, later. */
struct place {
	size_t at;
	uint64_t now_ns;
};

static struct place place_of(const struct past *p, const struct frame_event *e)
{
	size_t next = find_moment(p, e->wall_ns);
	bool is_late = next == p->moments.len || p->moments.at[next].wall_ns > e->wall_ns + NEXT_NS;

	if (is_late && next > 0)
		return (struct place){ next - 1, e->wall_ns };
	return (struct place){ next, p->moments.at[next].wall_ns };
}

const struct frame_event *past_trouble(struct past *p, bool is_back)
{
	const struct frame_event *worst = NULL;
	struct place place = { 0 };

	for (size_t i = 0; i < p->log.events.len; i++) {
		const struct frame_event *e =
			&p->log.events.at[is_back ? p->log.events.len - 1 - i : i];
		struct place its = e->is_trouble ? place_of(p, e) : place;

		if (!e->is_trouble || (is_back ? its.now_ns >= p->now_ns : its.now_ns <= p->now_ns))
			continue;
		if (worst && its.now_ns != place.now_ns)
			break;
		if (!worst || e->severity > worst->severity)
			worst = e;
		place = its;
	}
	if (worst) {
		p->at = place.at;
		p->now_ns = place.now_ns;
	}
	return worst;
}

void past_place(const struct past *p, char *ret, size_t cap)
{
	snprintf(ret, cap, "%s of %s", format_count(p->at + 1).at, format_count(p->moments.len).at);
}

/* ---- what is seen there ---------------------------------------------------------------------- */

int past_read_frame(struct past *p, struct frame *ret, struct err *err)
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
		r = past_read_frame(&p, ret, err);
	if (r == 0) {
		s->is_past = true;
		past_place(&p, s->place, sizeof s->place);
		past_trail(&p, s);
		top_state_note(s, ret);
		top_state_arrange(s, ret);
		past_trail_of_row(&p, ret, s);
	}
	past_close(&p);
	return r;
}
