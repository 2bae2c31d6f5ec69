/* SPDX-License-Identifier: MIT */
#include "view/frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t)512 << 20)

static const struct frame_head unknown_head = {
	.interval_s = NAN,   .cpu_ratio = NAN,  .iowait_ratio = NAN, .steal_ratio = NAN,
	.cores = NAN,        .mem_total = NAN,  .mem_available = NAN, .swap_total = NAN,
	.swap_free = NAN,    .psi_cpu = NAN,    .psi_mem = NAN,      .psi_io = NAN,
	.load = { NAN, NAN, NAN }, .own_cpu_ratio = NAN, .own_rss = NAN,
};

void frame_reset(struct frame *f)
{
	f->source = FRAME_NONE;
	f->head = unknown_head;
	vec_reset(&f->jobs);
	vec_reset(&f->sheets);
	vec_reset(&f->procs);
	vec_reset(&f->events);
	vec_reset(&f->anomalies);
	f->procs_all = 0;
	f->is_complete = true;
	f->text.max = TEXT_MAX;
	buf_reset(&f->text);
	buf_put(&f->text, "", 1); /* 0 is "" */
}

void frame_done(struct frame *f)
{
	vec_done(&f->jobs);
	vec_done(&f->sheets);
	vec_done(&f->procs);
	vec_done(&f->events);
	vec_done(&f->anomalies);
	buf_done(&f->text);
}

frame_text frame_keep(struct frame *f, const char *text, size_t n)
{
	size_t at = f->text.len;
	char *to = n && at + n < UINT32_MAX ? buf_grow(&f->text, n + 1) : NULL;

	if (!to)
		return 0;
	memcpy(to, text, n);
	to[n] = '\0';
	f->text.len += n + 1;
	return (frame_text)at;
}

frame_text frame_keep_str(struct frame *f, const char *text)
{
	return text ? frame_keep(f, text, strlen(text)) : 0;
}

const char *frame_str(const struct frame *f, frame_text t)
{
	return f->text.at && t < f->text.len ? f->text.at + t : "";
}

bool frame_is_of_job(const struct frame *f, frame_text id, uint32_t uid, struct job_key key)
{
	return (uid == key.uid || uid == FRAME_ANY_UID || key.uid == FRAME_ANY_UID) &&
	       strcmp(frame_str(f, id), key.id) == 0;
}

bool frame_is_alike(const struct frame *f, frame_text one, frame_text other)
{
	const char *a = frame_str(f, one), *b = frame_str(f, other), *colon = strchr(a, ':');

	return colon && strncmp(a, b, (size_t)(colon - a) + 1) == 0;
}

int32_t frame_find_job(const struct frame *f, struct job_key key)
{
	for (size_t i = 0; i < f->jobs.len; i++)
		if (frame_is_of_job(f, f->jobs.at[i].id, f->jobs.at[i].uid, key))
			return (int32_t)i;
	return -1;
}

struct job_key frame_job_key(const struct frame *f, size_t job)
{
	return (struct job_key){ f->jobs.at[job].uid, frame_str(f, f->jobs.at[job].id) };
}

static struct frame_sheet *find_sheet(struct frame *f, int32_t job, uint32_t num)
{
	vec_each(&f->sheets, s)
		if (s->job == job && s->num == num)
			return s;
	return NULL;
}

static void forget_figures(double figure[FRAME_FIGURE_COUNT])
{
	for (size_t i = 0; i < FRAME_FIGURE_COUNT; i++)
		figure[i] = NAN;
}

struct frame_job *frame_add_job(struct frame *f, struct job_key key)
{
	struct frame_job *job = vec_push(&f->jobs, JOBS_MAX);

	if (!job)
		return NULL;
	*job = (struct frame_job){ .id = frame_keep_str(f, key.id),
		                   .uid = key.uid,
		                   .limit_bytes = NAN,
		                   .limit_cores = NAN,
		                   .limit_s = NAN };
	forget_figures(job->measured);
	return job;
}

struct frame_sheet *frame_add_sheet(struct frame *f, int32_t job)
{
	struct frame_sheet *sheet = vec_push(&f->sheets, SHEETS_MAX);

	if (sheet)
		*sheet = (struct frame_sheet){ .job = job };
	return sheet;
}

struct frame_proc *frame_add_proc(struct frame *f)
{
	struct frame_proc *p = vec_push(&f->procs, FRAME_PROCS_MAX);

	if (!p)
		return NULL;
	*p = (struct frame_proc){ .job = -1, .state = '?' };
	forget_figures(p->figure);
	return p;
}

/* Unknown and something is something: of a sum it is at least that. */
static void add(double sum[FRAME_FIGURE_COUNT], const double more[FRAME_FIGURE_COUNT])
{
	for (size_t i = 0; i < FRAME_FIGURE_COUNT; i++)
		sum[i] = isnan(sum[i]) ? more[i] : isnan(more[i]) ? sum[i] : sum[i] + more[i];
}

static void add_to_job(struct frame *f, const struct frame_proc *p)
{
	struct frame_sheet *sheet = p->sheet ? find_sheet(f, p->job, p->sheet) : NULL;
	struct frame_job *job = &f->jobs.at[p->job];

	job->procs++;
	add(job->figure, p->figure);
	if (!sheet)
		return;
	sheet->procs++;
	add(sheet->figure, p->figure);
}

static void sum_up(struct frame *f)
{
	vec_each(&f->sheets, s)
		forget_figures(s->figure);
	vec_each(&f->jobs, job)
		forget_figures(job->figure);
	vec_each(&f->procs, p)
		if (p->job >= 0 && (size_t)p->job < f->jobs.len)
			add_to_job(f, p);
	vec_each(&f->jobs, job)
		for (size_t i = 0; i < FRAME_FIGURE_COUNT; i++)
			if (!isnan(job->measured[i]))
				job->figure[i] = job->measured[i];
}

static void keep_only(struct frame *f, struct job_key key)
{
	int32_t job = frame_find_job(f, key);
	size_t n = 0;

	vec_each(&f->procs, p)
		if (job >= 0 && p->job == job)
			f->procs.at[n++] = *p;
	f->procs.len = n;
	n = 0;
	vec_each(&f->events, e)
		if (frame_is_of_job(f, e->job, e->job_uid, key))
			f->events.at[n++] = *e;
	f->events.len = n;
	n = 0;
	vec_each(&f->anomalies, a)
		if (frame_is_of_job(f, a->job, a->job_uid, key))
			f->anomalies.at[n++] = *a;
	f->anomalies.len = n;
	if (job > 0)
		f->jobs.at[0] = f->jobs.at[job];
	f->jobs.len = job >= 0;
	n = 0;
	vec_each(&f->sheets, s)
		if (job >= 0 && s->job == job)
			f->sheets.at[n++] = *s;
	f->sheets.len = n;
	vec_each(&f->sheets, s)
		s->job = 0;
	vec_each(&f->procs, p)
		p->job = 0;
}

static int compare_events(const void *a, const void *b)
{
	const struct frame_event *p = a, *q = b;

	return (p->wall_ns > q->wall_ns) - (p->wall_ns < q->wall_ns);
}

void frame_complete(struct frame *f, const struct job_key *job)
{
	if (!f->procs_all)
		f->procs_all = (uint32_t)f->procs.len;
	if (job)
		keep_only(f, *job);
	sum_up(f);
	if (f->events.len)
		qsort(f->events.at, f->events.len, sizeof *f->events.at, compare_events);
}
