/* SPDX-License-Identifier: MIT */
#include "top/past_frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/signal_name.h"
#include "history/job_query.h"
#include "top/past.h"

#define EVENTS_SHOWN 200

/* ---- events ---------------------------------------------------------------------------------- */

bool past_event_matters(const struct event_record *e)
{
	if (e->kind == EVENT_EXIT)
		return e->job_id && e->signal; /* whether a job failed is shown with it */
	return e->kind != EVENT_KILL || e->job_id;
}

static char *words_of(const struct event_record *e)
{
	const char *comm = e->comm ? e->comm : "", *details = e->details ? e->details : "";
	const char *name = e->name ? e->name : "";

	if (e->kind == EVENT_EXIT && e->signal)
		return xasprintf("%s %d died of %s", comm, (int)e->process.pid, signal_name(e->signal).at);
	if (e->kind == EVENT_ANOMALY && *details)
		return xstrdup(details); /* it names the process */
	if (e->process.pid)
		return xasprintf("%s %d %s%s%s", comm, (int)e->process.pid, name, *name ? " " : "", details);
	return xasprintf("%s%s%s", name, *name && *details ? " " : "", details);
}

struct past_event past_event_of(const struct event_record *e)
{
	bool is_trouble = e->kind == EVENT_EXIT || e->kind == EVENT_KILL || e->kind == EVENT_OOM ||
	                  e->kind == EVENT_ANOMALY || e->kind == EVENT_LIMIT || e->kind == EVENT_DISK;
	struct past_event to = {
		.wall_ns = e->wall_ns,
		.job = xstrdup(e->job_id ? e->job_id : ""),
		.job_uid = e->has_job_uid ? e->job_uid : FRAME_ANY_UID,
		.what = words_of(e),
		.severity = e->kind == EVENT_OOM || e->kind == EVENT_KILL || e->kind == EVENT_DISK
		                    ? SEVERITY_HIGH
		            : is_trouble ? SEVERITY_MEDIUM
		                         : SEVERITY_LOW,
		.pid = e->process.pid,
		.is_trouble = is_trouble && !(e->kind == EVENT_ANOMALY && e->count),
	};

	snprintf(to.kind, sizeof to.kind, "%s", event_name(e->kind));
	return to;
}

struct past_event past_event_of_job(const struct job *job)
{
	bool failed = job->status == JOB_FAILED || job->status == JOB_LOST;
	struct past_event to = {
		.wall_ns = job->ended_ns,
		.kind = "job",
		.job = xstrdup(job->id),
		.job_uid = job->uid,
		.severity = failed ? SEVERITY_HIGH : SEVERITY_LOW,
		.is_trouble = failed,
	};

	if (job->status == JOB_FAILED && job->signal)
		to.what = xasprintf("FAILED: %s", signal_name(job->signal).at);
	else if (job->status == JOB_FAILED)
		to.what = xasprintf("FAILED: exit status %d", job->exit_code);
	else
		to.what = xstrdup(job->status == JOB_LOST ? "lost" : "ended well");
	return to;
}

void past_event_done(struct past_event *e)
{
	free(e->job);
	free(e->what);
}

/* Those up to the shown moment. */
static void fill_events(const struct past *p, struct frame *f)
{
	size_t end = 0, from;

	while (end < p->events.len && p->events.at[end].wall_ns <= p->snap.wall_ns)
		end++;
	from = end > EVENTS_SHOWN ? end - EVENTS_SHOWN : 0;
	for (size_t i = from; i < end; i++) {
		const struct past_event *e = &p->events.at[i];
		struct frame_event *to = vec_push(&f->events, FRAME_EVENTS_MAX);

		if (to)
			*to = (struct frame_event){ .wall_ns = e->wall_ns,
				                    .kind = frame_keep_str(f, e->kind),
				                    .job = frame_keep_str(f, e->job),
				                    .job_uid = e->job_uid,
				                    .what = frame_keep_str(f, e->what),
				                    .severity = e->severity,
				                    .pid = e->pid };
	}
}

/* ---- the machine ----------------------------------------------------------------------------- */

static double reading(const struct host_readings *r, unsigned id)
{
	return readings_has(r, id) ? (double)r->value[id] : (double)NAN;
}

static void fill_head(const struct snapshot *s, struct frame *f)
{
	struct frame_head *h = &f->head;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	h->wall_ns = s->wall_ns;
	h->uptime_ns = s->boot_ns;
	h->interval_s = (double)s->elapsed_ns / 1e9;
	h->cores = cores > 0 ? (double)cores : NAN;
	h->cpu_ratio = s->cpu_busy_ratio;
	h->iowait_ratio = s->cpu_iowait_ratio;
	h->steal_ratio = s->cpu_steal_ratio;
	h->mem_total = reading(&s->host, HOST_MEM_TOTAL);
	h->mem_available = reading(&s->host, HOST_MEM_AVAILABLE);
	h->swap_total = reading(&s->host, HOST_SWAP_TOTAL);
	h->swap_free = reading(&s->host, HOST_SWAP_FREE);
	h->load[0] = reading(&s->host, HOST_LOAD_1) / 1000;
	h->load[1] = reading(&s->host, HOST_LOAD_5) / 1000;
	h->load[2] = reading(&s->host, HOST_LOAD_15) / 1000;
	h->own_cpu_ratio = s->self_cpu_ratio;
	h->own_rss = reading(&s->host, HOST_SELF_RSS);
	h->pressure = frame_keep_str(f, s->pressure_level);
	f->is_complete = s->procs_complete;
	vec_each(&s->gpus, gpu) {
		if (h->gpus == FRAME_GPUS_MAX)
			break;
		h->gpu[h->gpus++] = (struct frame_gpu){
			.index = gpu->index,
			.util_ratio = readings_has(&gpu->r, GPU_UTIL) ? (double)gpu->r.value[GPU_UTIL] / 100
			                                             : (double)NAN,
			.used_bytes = readings_has(&gpu->r, GPU_MEM_USED)
			                      ? (double)gpu->r.value[GPU_MEM_USED]
			                      : (double)NAN,
			.total_bytes = readings_has(&gpu->r, GPU_MEM_TOTAL)
			                       ? (double)gpu->r.value[GPU_MEM_TOTAL]
			                       : (double)NAN,
		};
	}
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
	struct frame_sheet *s = r->s.started_ns <= to->now_ns ? vec_push(&to->f->sheets, SHEETS_MAX)
	                                                      : NULL;
	bool has_ended = r->s.ended_ns && r->s.ended_ns <= to->now_ns;

	if (!s)
		return 0;
	*s = (struct frame_sheet){ .job = to->job,
		                   .num = r->s.num,
		                   .label = frame_keep_str(to->f, r->s.label),
		                   .status = has_ended ? r->s.status : JOB_RUNNING,
		                   .started_ns = r->s.started_ns,
		                   .ended_ns = has_ended ? r->s.ended_ns : 0,
		                   .exit_code = r->s.exit_code,
		                   .signal = r->s.signal };
	return 0;
}

static void fill_sum(struct past *p, const struct job *from, struct frame_job *to)
{
	const struct past_job *job = past_find_job(p, job_key_of(from));
	const struct past_sum *sum = job ? past_sum_at(job, p->snap.wall_ns) : NULL;

	if (!sum)
		return;
	to->cpu_ratio = sum->cpu_ratio;
	to->used_bytes = sum->used_bytes;
}

static void fill_jobs(struct past *p, struct frame *f)
{
	const struct snapshot *s = &p->snap;

	vec_each(&s->jobs, from) {
		struct frame_job *job = frame_add_job(f, job_key_of(from));
		struct sheets sheets = { f, (int32_t)f->jobs.len - 1, s->wall_ns };
		struct job full;
		struct err ignored;

		if (!job)
			return;
		job->type = frame_keep_str(f, from->type);
		job->started_ns = from->started_ns;
		job->total_sheets = from->total_sheets;
		job->completed_sheets = from->last_completed_sheet;
		job->current_sheet = from->current_sheet;
		if (history_get_job(p->history, job_key_of(from), &full, &ignored) == 0) {
			job->command = frame_keep_str(f, full.command);
			job->limit_source = frame_keep_str(f, full.allowed.memory_source);
			if (full.allowed.memory_bytes)
				job->limit_bytes = (double)full.allowed.memory_bytes;
			if (full.allowed.milli_cores)
				job->limit_cores = (double)full.allowed.milli_cores / 1000;
			if (full.allowed.time_ns)
				job->limit_s = (double)full.allowed.time_ns / 1e9;
		}
		fill_sum(p, from, job);
		(void)!history_sheets(p->history, job_key_of(from), take_sheet, &sheets, &ignored);
	}
}

static double proc_reading(const struct proc_snap *p, unsigned id)
{
	return readings_has(&p->s.r, id) ? (double)p->s.r.value[id] : (double)NAN;
}

/* A recorder of the machine may not know the jobs of others: theirs do. */
static void find_member(struct past *past, const struct frame *f, const struct proc_snap *p, int32_t *job,
                        uint32_t *sheet)
{
	uint64_t found;

	for (size_t i = 0; *job < 0 && i < f->jobs.len; i++) {
		const struct past_job *known = past_find_job(past, job_key_of(&past->snap.jobs.at[i]));

		if (!known || !map_get(&known->sheets, proc_key(p->s.id), &found))
			continue;
		*job = (int32_t)i;
		*sheet = (uint32_t)found;
	}
}

static void fill_proc(const struct snapshot *s, const struct proc_snap *p, int32_t job, uint32_t sheet,
                      struct frame *f)
{
	struct frame_proc *to = frame_add_proc(f);

	if (!to)
		return;
	to->pid = p->s.id.pid;
	to->ppid = p->s.ppid;
	to->uid = p->s.uid;
	to->job = job;
	to->sheet = sheet;
	to->state = p->s.state;
	to->age_ns = p->age_ns;
	to->cpu_ratio = p->cpu_ratio;
	to->rss_bytes = proc_reading(p, PROC_RSS);
	to->threads = proc_reading(p, PROC_THREADS);
	to->fds = proc_reading(p, PROC_FDS);
	to->gpu_ratio = proc_reading(p, PROC_GPU_SM) / 100;
	to->command = p->s.command.len ? frame_keep(f, snapshot_text(s, p->s.command), p->s.command.len)
	                               : frame_keep_str(f, p->s.comm);
}

static void fill_procs(struct past *past, struct frame *f)
{
	vec_each(&past->snap.procs, p) {
		int32_t job = p->job;
		uint32_t sheet = p->sheet;

		find_member(past, f, p, &job, &sheet);
		fill_proc(&past->snap, p, job, sheet, f);
	}
}

/* ---- jobs whose processes only their own recorder stored ------------------------------------- */

#define NEAR 16 /* snapshots of other recorders that may stand between */
#define NEAR_NS (10 * NS_PER_S)

/* The first of the job's own snapshots that is not older than the shown moment, or else its last one. False: there is
 * none near it. */
static bool find_own_snapshot(struct past *p, const struct job *job, struct snapshot *ret)
{
	int64_t id = p->moments.at[p->at].id;
	struct history_cursor at = { .after_id = id > NEAR ? id - NEAR : 0 };
	uint64_t now = p->snap.wall_ns, found_ns = 0;
	struct err ignored;
	struct snapshot next = { 0 };

	while (found_ns < now &&
	       history_next_job_snapshot(p->history, job_key_of(job), &at, &next, &ignored) > 0) {
		struct snapshot before = *ret;

		*ret = next;
		next = before;
		found_ns = ret->wall_ns;
	}
	snapshot_done(&next);
	return found_ns && (found_ns > now ? found_ns - now : now - found_ns) < NEAR_NS;
}

static void add_own_procs(struct past *p, struct frame *f, int32_t job)
{
	const struct job *from = &p->snap.jobs.at[job];
	struct snapshot own = { 0 };

	if (find_own_snapshot(p, from, &own))
		vec_each(&own.procs, proc)
			if (proc->job >= 0 && job_key_eq(job_key_of(&own.jobs.at[proc->job]), job_key_of(from)))
				fill_proc(&own, proc, job, proc->sheet, f);
	snapshot_done(&own);
}

static void add_missing_procs(struct past *p, struct frame *f)
{
	for (int32_t job = 0; job < (int32_t)f->jobs.len; job++) {
		bool has_some = false;

		vec_each(&f->procs, proc)
			has_some = has_some || proc->job == job;
		if (!has_some)
			add_own_procs(p, f, job);
	}
}

void past_frame_fill(struct past *p, struct frame *ret)
{
	frame_reset(ret);
	ret->source = FRAME_PAST;
	fill_head(&p->snap, ret);
	fill_jobs(p, ret);
	fill_procs(p, ret);
	add_missing_procs(p, ret);
	fill_events(p, ret);
	frame_complete(ret, p->only.key.id ? &p->only.key : NULL);
}
