/* SPDX-License-Identifier: MIT */
#include "top/past_frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "history/job_query.h"
#include "model/snapshot_json.h"
#include "top/live_frame.h"
#include "top/past.h"
#include "top/snapshot_text.h"
#include "view/job_view.h"

#define EVENTS_SHOWN 200
#define SNAPSHOT_MAX ((size_t)1 << 30)

/* ---- events ---------------------------------------------------------------------------------- */

/* Those up to the shown moment. */
static void fill_events(const struct past *p, struct frame *f)
{
	size_t end = 0, from;

	while (end < p->log.events.len && p->log.events.at[end].wall_ns <= p->now_ns)
		end++;
	from = end > EVENTS_SHOWN ? end - EVENTS_SHOWN : 0;
	for (size_t i = from; i < end; i++) {
		struct frame_event *to = vec_push(&f->events, FRAME_EVENTS_MAX);

		if (!to)
			return;
		*to = p->log.events.at[i];
		to->kind = frame_keep_str(f, frame_str(&p->log, to->kind));
		to->job = frame_keep_str(f, frame_str(&p->log, to->job));
		to->what = frame_keep_str(f, frame_str(&p->log, to->what));
	}
}

/* ---- the machine and its processes ----------------------------------------------------------- */

/* As the answers of a server are read: what is shown of a process is then the same. */
static void fill_snapshot(const struct snapshot *s, struct frame *f)
{
	cleanup(buf_done) struct buf text = { .max = SNAPSHOT_MAX }, head = { .max = SNAPSHOT_MAX };
	struct json j = { .out = &text };
	struct scan processes;
	json_error_t error;
	json_t *loaded;

	snapshot_json(&j, s, NULL);
	if (!snapshot_text_split(scan_mem(text.at, text.len), &head, &processes))
		return;
	loaded = json_loadb(head.at, head.len, 0, &error);
	live_frame_head(loaded, f);
	json_decref(loaded);
	f->head.uptime_ns = s->boot_ns;
	f->head.interval_s = (double)s->elapsed_ns / 1e9;
	snapshot_text_fill(processes, f);
}

static void fill_processes_of(const struct snapshot *s, struct job_key job, struct frame *f)
{
	const struct snapshot_scope scope = past_scope(&job);
	cleanup(buf_done) struct buf text = { .max = SNAPSHOT_MAX }, head = { .max = SNAPSHOT_MAX };
	struct json j = { .out = &text };
	struct scan processes;

	snapshot_json(&j, s, &scope);
	if (snapshot_text_split(scan_mem(text.at, text.len), &head, &processes))
		snapshot_text_fill(processes, f);
}

/* ---- jobs and processes ---------------------------------------------------------------------- */

struct sheets {
	struct frame *f;
	int32_t job;
	uint64_t now_ns;
};

/* As it was then. */
static int take_sheet(void *self, const struct sheet_record *r)
{
	const struct sheets *to = self;
	bool has_ended = r->s.ended_ns && r->s.ended_ns <= to->now_ns;
	struct frame_sheet *s = r->s.started_ns <= to->now_ns ? frame_add_sheet(to->f, to->job)
	                                                      : NULL;
	struct frame_job *job = &to->f->jobs.at[to->job];

	if (!s)
		return 0;
	s->num = r->s.num;
	s->label = frame_keep_str(to->f, r->s.label);
	s->status = has_ended ? r->s.status : JOB_RUNNING;
	s->started_ns = r->s.started_ns;
	s->ended_ns = has_ended ? r->s.ended_ns : 0;
	s->exit_code = r->s.exit_code;
	s->signal = r->s.signal;
	if (s->status == JOB_COMPLETED)
		job->completed_sheets = MAX(job->completed_sheets, s->num);
	else if (s->status == JOB_RUNNING)
		job->current_sheet = MAX(job->current_sheet, s->num);
	return 0;
}

static void fill_job(const struct job *from, uint64_t now_ns, struct frame *f, struct frame_job *to)
{
	bool has_ended = from->ended_ns && from->ended_ns <= now_ns;

	to->status = has_ended ? from->status : JOB_RUNNING;
	to->started_ns = from->started_ns;
	to->ended_ns = has_ended ? from->ended_ns : 0;
	to->total_sheets = from->total_sheets;
	to->type = frame_keep_str(f, from->type);
	to->command = frame_keep_str(f, from->command);
	to->result = has_ended ? frame_keep_str(f, job_view_result(from).at) : 0;
	to->limit_source = frame_keep_str(f, from->allowed.memory_source);
	if (from->allowed.memory_bytes)
		to->limit_bytes = (double)from->allowed.memory_bytes;
	if (from->allowed.milli_cores)
		to->limit_cores = (double)from->allowed.milli_cores / 1000;
	if (from->allowed.time_ns)
		to->limit_s = (double)from->allowed.time_ns / 1e9;
}

void past_frame_add_job(struct past *p, struct job_key key, uint64_t now_ns, struct frame *to)
{
	struct sheets sheets = { to, (int32_t)to->jobs.len, now_ns };
	struct frame_job *job;
	struct job full;
	struct err ignored;

	if (history_get_job(p->history, key, &full, &ignored) < 0)
		return;
	job = frame_add_job(to, key);
	if (!job)
		return;
	fill_job(&full, now_ns, to, job);
	(void)!history_sheets(p->history, key, take_sheet, &sheets, &ignored);
}

/* The figures of the job's recorder, and the anomalies that lasted then. */
static void fill_measured(struct past *p, struct frame *f, size_t job)
{
	char id[JOB_ID_MAX];
	struct job_key key = { f->jobs.at[job].uid, id };
	const struct past_job *known;
	const struct past_sum *sum;

	snprintf(id, sizeof id, "%s",
	         frame_str(f, f->jobs.at[job].id)); /* the frame's texts move */
	known = past_find_job(p, key);
	sum = known && f->jobs.at[job].status == JOB_RUNNING ? past_sum_at(known, p->now_ns) : NULL;
	if (sum) {
		f->jobs.at[job].measured[FRAME_CPU] = sum->cpu_ratio;
		f->jobs.at[job].measured[FRAME_MEM] = sum->used_bytes;
		f->jobs.at[job].measured[FRAME_IO] = sum->io_bps;
	}
	for (size_t i = 0; known && i < known->anomalies.len; i++) {
		const struct past_anomaly *a = &known->anomalies.at[i];

		if (a->began_ns <= p->now_ns && (!a->ended_ns || a->ended_ns > p->now_ns))
			frame_add_anomaly(f, &(struct anomaly_record){ .severity = a->severity,
			                                               .process = a->process,
			                                               .job_id = id,
			                                               .has_job_uid = true,
			                                               .job_uid = key.uid,
			                                               .began_ns = a->began_ns,
			                                               .description = a->what });
	}
}

/* Those that ran, and those that ended in the last minute, as a server lists them. */
static void fill_jobs(struct past *p, struct frame *f)
{
	vec_each(&p->snap.jobs, job)
		past_frame_add_job(p, job_key_of(job), p->now_ns, f);
	for (size_t i = 0; i < p->log.jobs.len; i++) {
		const struct job_key key = frame_job_key(&p->log, i);
		uint64_t ended_ns = p->log.jobs.at[i].ended_ns;

		if (ended_ns && ended_ns <= p->now_ns &&
		    ended_ns + JOB_ENDED_SHOWN_NS > p->now_ns && frame_find_job(f, key) < 0)
			past_frame_add_job(p, key, p->now_ns, f);
	}
	for (size_t i = 0; i < f->jobs.len; i++)
		fill_measured(p, f, i);
}

/* A recorder of the machine may not know the jobs of others: theirs do. */
static void find_member(struct past *past, struct proc_snap *p)
{
	uint64_t found;

	for (size_t i = 0; p->job < 0 && i < past->snap.jobs.len; i++) {
		const struct past_job *known = past_find_job(past, job_key_of(&past->snap.jobs.at[i]));

		if (!known || !map_get(&known->sheets, proc_key(p->s.id), &found))
			continue;
		p->job = (int32_t)i;
		p->sheet = (uint32_t)found;
	}
}

/* ---- jobs whose processes only their own recorder stored ------------------------------------- */

#define NEAR 16 /* snapshots of other recorders that may stand between */
#define NEAR_NS (10 * NS_PER_S)

/* The last of the job's own snapshots until the shown moment, as past_sum_at() has the job's figures. False: there is
 * none near it. */
static bool find_own_snapshot(struct past *p, struct job_key job, struct snapshot *ret)
{
	int64_t id = p->moments.at[p->at].id;
	struct history_cursor at = { .after_id = id > NEAR ? id - NEAR : 0 };
	uint64_t until_ns = p->now_ns + NS_PER_MS;
	struct err ignored;
	struct snapshot next = { 0 };

	while (history_next_job_snapshot(p->history, job, &at, &next, &ignored) > 0 &&
	       next.wall_ns <= until_ns) {
		struct snapshot before = *ret;

		*ret = next;
		next = before;
	}
	snapshot_done(&next);
	return ret->wall_ns && ret->wall_ns + NEAR_NS > p->now_ns;
}

static void add_own_procs(struct past *p, struct frame *f, int32_t job)
{
	char id[JOB_ID_MAX];
	const struct job_key key = { f->jobs.at[job].uid, id };
	struct snapshot own = { 0 };

	snprintf(id, sizeof id, "%s", frame_str(f, f->jobs.at[job].id));
	if (find_own_snapshot(p, key, &own))
		fill_processes_of(&own, key, f);
	snapshot_done(&own);
}

static void add_missing_procs(struct past *p, struct frame *f)
{
	for (int32_t job = 0; job < (int32_t)f->jobs.len; job++) {
		bool has_some = false;

		vec_each(&f->procs, proc)
			has_some = has_some || proc->job == job;
		if (!has_some && f->jobs.at[job].status == JOB_RUNNING)
			add_own_procs(p, f, job);
	}
}

void past_frame_fill(struct past *p, struct frame *ret)
{
	frame_reset(ret);
	ret->source = FRAME_PAST;
	fill_jobs(p, ret);
	vec_each(&p->snap.procs, proc)
		find_member(p, proc);
	fill_snapshot(&p->snap, ret);
	ret->head.wall_ns = p->now_ns;
	add_missing_procs(p, ret);
	fill_events(p, ret);
	frame_complete(ret, p->only.id ? &p->only : NULL);
}
