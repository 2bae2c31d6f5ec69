/* SPDX-License-Identifier: MIT */
/* runfolder_log.c - what of a snapshot is news for the run log: not each process (`proctor events`
 * lists them), but marks, phases and sheets, and what happened to the job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_read.h"
#include "model/record_fields.h"
#include "model/own_process.h"
#include "runfolder/runfolder_handle.h"

static struct scan text_of(const struct snapshot *snap, struct text_ref ref)
{
	return ref.len ? scan_mem(snapshot_string(snap, ref), ref.len) : scan_str("");
}

/* Begins the data of an event in f->text. */
static struct json begin_data(struct runfolder *f)
{
	struct json j = { .out = &f->text };

	buf_reset(&f->text);
	json_begin_object(&j);
	return j;
}

static int log_data(struct runfolder *f, uint64_t wall_ns, const char *event, struct json *j,
                    struct err *err)
{
	json_end_object(j);
	f->latest_line_ns = MAX(f->latest_line_ns, wall_ns);
	return run_log_event(&f->log, wall_ns, scan_str(event), scan_mem(f->text.at, f->text.len),
	                     err);
}

static void put_text(struct json *j, const char *key, const char *text)
{
	if (!*text)
		return;
	json_put_str(j, key, text);
}

static void put_outcome(struct json *j, bool has_exit_code, int exit_code, int signal)
{
	if (has_exit_code) {
		json_put_i64(j, "exit_code", exit_code);
	} else if (signal) {
		json_put_i64(j, "signal", signal);
	}
}

static int log_job_started(struct runfolder *f, struct err *err)
{
	struct json j = begin_data(f);

	put_text(&j, "job_id", f->job.id);
	put_text(&j, "type", f->job.type);
	put_text(&j, "command", f->job.command);
	put_text(&j, "parent", f->job.parent);
	return log_data(f, f->job.started_ns, "job.started", &j, err);
}

int runfolder_log_end(struct runfolder *f, struct err *err)
{
	uint64_t ended_ns;
	struct json j;
	char event[40];

	if (!f->has_job || f->job.status == JOB_RUNNING)
		return 0;
	j = begin_data(f);
	put_text(&j, "job_id", f->job.id);
	put_outcome(&j, f->job.has_exit_code, f->job.exit_code, f->job.signal);
	json_put_fixed(&j, "seconds", (f->job.took_ns + NS_PER_MS / 2) / NS_PER_MS, 3);
	snprintf(event, sizeof event, "job.%s", job_status_name(f->job.status));
	ended_ns = f->job.ended_ns ? f->job.ended_ns : f->last_wall_ns;
	/* Sheets that were closed because the job ended were closed before it. */
	return log_data(f, MAX(ended_ns, f->latest_line_ns), event, &j, err);
}

/* The log's entry of a sheet; the latest are needed most. */
static struct runfolder_sheet *find_sheet(struct runfolder *f, uint32_t num)
{
	struct runfolder_sheet *added;

	for (size_t i = f->sheets.len; i > 0; i--)
		if (f->sheets.at[i - 1].num == num)
			return &f->sheets.at[i - 1];
	added = vec_push(&f->sheets, SHEETS_MAX);
	if (added)
		added->num = num;
	return added;
}

static int log_sheet(struct runfolder *f, const struct sheet *s, bool is_end, struct err *err)
{
	struct runfolder_sheet *known = find_sheet(f, s->num);
	uint64_t at_ns = is_end ? s->ended_ns : s->started_ns;
	uint64_t *logged_ns = !known ? NULL : is_end ? &known->ended_ns : &known->started_ns;
	char event[40] = "sheet.started";
	struct json j;

	if (!logged_ns || *logged_ns == at_ns)
		return 0;
	*logged_ns = at_ns;
	j = begin_data(f);
	json_key(&j, "sheet");
	json_u64(&j, s->num);
	put_text(&j, "label", s->label);
	if (is_end) {
		put_outcome(&j, s->has_exit_code, s->exit_code, s->signal);
		json_put_fixed(&j, "seconds",
		               (s->ended_ns - MIN(s->started_ns, s->ended_ns)) / NS_PER_MS, 3);
		snprintf(event, sizeof event, "sheet.%s", job_status_name(s->status));
	}
	return log_data(f, at_ns, event, &j, err);
}

/* jax_peak_bytes_mb in the data of a mark or phase. */
static void read_jax_peak(struct runfolder *f, struct scan data)
{
	struct scan value;
	uint64_t milli_mb;

	if (json_read_find(data, resource_keys[RESOURCE_KEY_JAX_PEAK].key, &value) &&
	    json_read_milli(value, &milli_mb))
		resource_summary_add(&f->sums, RESOURCE_JAX_PEAK_MB, milli_mb);
}

static int log_mark(struct runfolder *f, const struct snapshot *snap, const struct event *e,
                    struct err *err)
{
	struct scan name = text_of(snap, e->name), data = text_of(snap, e->text);

	read_jax_peak(f, data);
	f->latest_line_ns = MAX(f->latest_line_ns, e->wall_ns);
	if (e->kind == EVENT_PHASE)
		return run_log_phase(&f->log, e->wall_ns, name, (uint64_t)MAX(e->count, 0), data,
		                     err);
	return run_log_event(&f->log, e->wall_ns, name, data, err);
}

/* Which events are news, and their names. Anomalies are logged from their episodes, with figures. */
static const char *const news_names[EVENT_KIND_COUNT] = {
	[EVENT_KILL] = "process.kill",
	[EVENT_OOM] = "process.oom",
	[EVENT_LIMIT] = "job.limit",
	[EVENT_LOSS] = "recorder.loss",
	[EVENT_GAP] = "recorder.gap",
	[EVENT_CLOCK_STEP] = "recorder.clock_step",
	[EVENT_SUSPEND] = "recorder.suspend",
	[EVENT_PROBE] = "recorder.probe",
	[EVENT_GPU] = "gpu",
};

static bool is_named(const struct snapshot *snap, const struct event *e, const char *name)
{
	struct scan own = text_of(snap, e->name);

	return scan_eq(&own, name);
}

static void put_count(struct json *j, const struct snapshot *snap, const struct event *e)
{
	bool is_time = e->kind == EVENT_GAP || e->kind == EVENT_CLOCK_STEP ||
	               e->kind == EVENT_SUSPEND ||
	               (e->kind == EVENT_LIMIT &&
	                (is_named(snap, e, "time") || is_named(snap, e, EVENT_FOR_CPU_LIMIT))) ||
	               (e->kind == EVENT_GPU &&
	                (is_named(snap, e, "throttle_end") || is_named(snap, e, "lost_end")));

	if (is_time) {
		json_put_double(j, "seconds", (double)e->count / 1e9, 3);
	} else if (e->count) {
		json_put_i64(j, "count", e->count);
	}
}

static void put_process(struct json *j, const struct event *e)
{
	json_put_i64(j, "pid", e->id.pid);
	json_key(j, "comm");
	json_strn(j, e->comm, strnlen(e->comm, COMM_LEN));
	if (e->signal)
		json_put_i64(j, "signal", e->signal);
}

static int log_news(struct runfolder *f, const struct snapshot *snap, const struct event *e,
                    const char *name, struct err *err)
{
	cleanup(buf_done) struct buf details = { 0 };
	struct json j = begin_data(f);

	if (e->id.pid)
		put_process(&j, e);
	if (e->name.len) {
		json_key(&j, "name");
		json_strn(&j, snapshot_string(snap, e->name), e->name.len);
	}
	put_count(&j, snap, e);
	event_details(e, snap->text.at, &details);
	put_text(&j, "details", details.at ? details.at : "");
	return log_data(f, e->wall_ns, name, &j, err);
}

static bool is_our_job(const struct runfolder *f, const struct snapshot *snap, int32_t job)
{
	return job >= 0 && (size_t)job < snap->jobs.len &&
	       runfolder_is_of(f, &snap->jobs.at[job]);
}

/* The signal by which a program of ours ends as its command did: that one was killed. */
static bool is_echo(const struct event *e)
{
	return e->kind == EVENT_KILL && e->sender_pid == e->id.pid &&
	       strncmp(e->comm, OURS_NAME, COMM_LEN) == 0;
}

static int log_event(struct runfolder *f, const struct snapshot *snap, const struct event *e,
                     struct err *err)
{
	const char *name = news_names[e->kind];
	bool is_ours = is_our_job(f, snap, e->job);

	if (is_ours && (e->kind == EVENT_MARK || e->kind == EVENT_PHASE))
		return log_mark(f, snap, e, err);
	/* Events of the recorder itself belong to no job. */
	if (name && !is_echo(e) && (is_ours || (e->job < 0 && !e->id.pid)))
		return log_news(f, snap, e, name, err);
	return 0;
}

/* When one begins and when it ends; one of the machine concerns the job too. */
static bool is_news_of_anomaly(const struct runfolder *f, const struct snapshot *snap,
                               const struct anomaly *a)
{
	return (a->news == ANOMALY_BEGAN || a->news == ANOMALY_ENDED) &&
	       (anomaly_kinds[a->kind].scope == ANOMALY_OF_MACHINE || is_our_job(f, snap, a->job));
}

static uint64_t anomaly_time(const struct anomaly *a)
{
	return a->news == ANOMALY_ENDED ? a->ended_wall_ns : a->began_wall_ns;
}

static int log_anomaly(struct runfolder *f, const struct snapshot *snap, const struct anomaly *a,
                       struct err *err)
{
	cleanup(buf_done) struct buf text = { 0 };
	struct anomaly_record record = history_record_of_anomaly(a, snap, &text);
	struct json j = begin_data(f);

	field_table_json(&j, &anomaly_fields, &record);
	return log_data(f, anomaly_time(a), "monitor.anomaly", &j, err);
}

static void add_news(struct runfolder *f, struct runfolder_news what)
{
	struct runfolder_news *news = vec_push(&f->news, EVENTS_MAX + 2 * SHEETS_MAX);

	what.order = f->news.len;
	if (news)
		*news = what;
}

static bool is_news(const struct event *e)
{
	return e->kind == EVENT_MARK || e->kind == EVENT_PHASE || news_names[e->kind];
}

static int by_time(const void *a, const void *b)
{
	const struct runfolder_news *x = a, *y = b;

	if (x->wall_ns != y->wall_ns)
		return x->wall_ns < y->wall_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* In the order of time, whatever they come from. */
static void gather_news(struct runfolder *f, const struct snapshot *snap)
{
	vec_reset(&f->news);
	vec_each(&snap->sheets, s)
		if (is_our_job(f, snap, s->job))
			add_news(f, (struct runfolder_news){ s->started_ns, .sheet = s });
	vec_each(&snap->events, e)
		if (is_news(e))
			add_news(f, (struct runfolder_news){ e->wall_ns, .event = e });
	vec_each(&snap->anomalies, a)
		if (is_news_of_anomaly(f, snap, a))
			add_news(f, (struct runfolder_news){ anomaly_time(a), .anomaly = a });
	vec_each(&snap->sheets, s)
		if (is_our_job(f, snap, s->job) && s->ended_ns)
			add_news(f, (struct runfolder_news){ s->ended_ns, .sheet = s,
			                                     .is_end = true });
	if (f->news.len)
		qsort(f->news.at, f->news.len, sizeof *f->news.at, by_time);
}

static int log_one(struct runfolder *f, const struct snapshot *snap,
                   const struct runfolder_news *news, struct err *err)
{
	if (news->event)
		return log_event(f, snap, news->event, err);
	if (news->anomaly)
		return log_anomaly(f, snap, news->anomaly, err);
	return log_sheet(f, news->sheet, news->is_end, err);
}

int runfolder_put_log(struct runfolder *f, const struct snapshot *snap, struct err *err)
{
	bool is_first = f->has_job && !f->is_start_logged;
	int r = is_first ? log_job_started(f, err) : 0;
	struct err later;

	f->is_start_logged |= is_first;
	gather_news(f, snap);
	vec_each(&f->news, news)
		r = runfolder_first(r, log_one(f, snap, news, &later), &later, err);
	return r;
}
