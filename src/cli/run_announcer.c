/* SPDX-License-Identifier: MIT */
#include "cli/run_announcer.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/daemon_client.h"
#include "model/record_fields.h"
#include "rpc/announcer.h"

static_assert(ANNOUNCER_PATH_MAX >= CONFIG_PATH_MAX, "a place fits");

struct run_announcer {
	struct run_announcer_options options;
	struct announcer *announcer;
	struct buf params;
	bool has_place; /* our row is committed there */
	struct recorder_place place;
};

/* For the row of our recorder to be committed. The command waits as long, where there is a daemon. */
#define ROW_PATIENCE_NS (2 * NS_PER_S)

static const struct job *the_job(const struct run_announcer *h)
{
	return &h->options.job->job;
}

/* The object that each call begins with. */
static struct json begin(struct run_announcer *h, const struct job *job)
{
	struct json j = { .out = &h->params };

	buf_reset(&h->params);
	json_begin_object(&j);
	json_put_str(&j, "job_id", job->id);
	return j;
}

static void send(struct run_announcer *h, struct announcer *to, struct json *j, const char *method)
{
	json_end_object(j);
	announcer_send(to, method, h->params.at);
}

/* The database that we write into: if it is the daemon's own, the daemon need not store the job, too. */
static void put_place(struct run_announcer *h, struct json *j)
{
	json_put_bool(j, "has_recorder", true);
	h->has_place = h->has_place ||
	               engine_introduce(h->options.engine, ROW_PATIENCE_NS, &h->place);
	if (!h->has_place)
		return;
	json_put_u64(j, "store_device", h->place.device);
	json_put_u64(j, "store_inode", h->place.inode);
}

/* As the command begins with it: the time limit is known before all others. */
static uint64_t allowed_ns(const struct job *job)
{
	uint64_t limit_ns = job->limit[JOB_LIMIT_TIME], batch_ns = job->allowed.time_ns;

	return limit_ns && batch_ns ? MIN(limit_ns, batch_ns) : MAX(limit_ns, batch_ns);
}

static void announce_job(struct run_announcer *h, struct announcer *to)
{
	const struct job *job = the_job(h);
	struct json j = begin(h, job);

	json_put_any_str(&j, "job_type", job->type);
	json_put_any_str(&j, "parent_job_id", job->parent);
	json_put_any_str(&j, "command", job->command);
	json_put_any_str(&j, "cwd", job->cwd);
	json_put_any_str(&j, "tier", job->tier);
	json_put_any_str(&j, "recording", job->recording);
	if (job->tags[0]) {
		json_key(&j, "tags");
		json_raw(&j, job->tags, strlen(job->tags));
	}
	json_put_fixed(&j, "started_at", job->started_ns / NS_PER_US, 6);
	json_put_any_u64(&j, "pid", (uint64_t)h->options.pid);
	json_put_any_u64(&j, "total_sheets", job->total_sheets);
	if (allowed_ns(job))
		json_put_fixed(&j, "allowed_seconds", allowed_ns(job) / NS_PER_US, 6);
	field_table_json_in(&j, &job_fields, IN_ANNOUNCED, job);
	if (h->options.counts_from_now)
		json_put_bool(&j, "counts_from_now", true);
	put_place(h, &j);
	send(h, to, &j, "job.start");
}

static void announce_sheet(struct run_announcer *h, struct announcer *to, const struct sheet *sheet)
{
	struct json j = begin(h, the_job(h));

	json_put_any_u64(&j, "sheet_num", sheet->num);
	json_put_any_u64(&j, "total", the_job(h)->total_sheets);
	json_put_any_str(&j, "label", sheet->label);
	if (sheet->started_ns)
		json_put_fixed(&j, "started_at", sheet->started_ns / NS_PER_US, 6);
	json_put_bool(&j, "wrapper", sheet->is_wrapper);
	if (sheet->status == JOB_RUNNING)
		json_put_any_u64(&j, "pid", (uint64_t)sheet->pid);
	send(h, to, &j, "sheet.started");
}

static void announce_sheet_end(struct run_announcer *h, struct announcer *to, uint32_t num,
                               const struct job_end *how)
{
	const struct sheet *sheet = job_row_sheet(h->options.job, num);
	struct json j = begin(h, the_job(h));

	json_put_any_u64(&j, "sheet_num", num);
	if (how->status == JOB_FAILED && how->has_exit_code)
		json_put_any_u64(&j, "exit_code", (uint64_t)how->exit_code);
	json_put_any_u64(&j, "signal", (uint64_t)how->signal);
	if (sheet && sheet->is_wrapper) {
		json_key(&j, "usage");
		sheet_use_json(&j, &sheet->own);
	}
	send(h, to, &j, how->status == JOB_COMPLETED ? "sheet.completed" : "sheet.failed");
}

/* Marks and phases are kept for a daemon that comes later, but not without end. */
static void announce_dropped(struct run_announcer *h, struct announcer *to)
{
	uint64_t dropped = announcer_take_dropped(to);
	struct json j = begin(h, the_job(h));

	if (!dropped)
		return;
	json_put_str(&j, "name", "marks.dropped");
	json_open_object(&j, "data");
	json_put_u64(&j, "count", dropped);
	json_end_object(&j);
	send(h, to, &j, "job.mark");
}

/* A daemon that comes later learns of the sheets that run, and of the last that was completed: so
 * far is the job. */
static void greet(void *self, struct announcer *to)
{
	struct run_announcer *h = self;
	const struct job *job = the_job(h);

	announce_job(h, to);
	vec_each(&h->options.job->sheets, sheet) {
		if (sheet->status != JOB_RUNNING && sheet->num != job->last_completed_sheet)
			continue;
		announce_sheet(h, to, sheet);
		if (sheet->status != JOB_RUNNING)
			announce_sheet_end(h, to, sheet->num,
			                   &(struct job_end){ .status = sheet->status,
			                                      .has_exit_code = sheet->has_exit_code,
			                                      .exit_code = sheet->exit_code,
			                                      .signal = sheet->signal });
	}
	announce_dropped(h, to);
}

static bool place(void *self, unsigned nth, char ret[ANNOUNCER_PATH_MAX])
{
	(void)self;
	return daemon_client_place(NULL, nth, ret);
}

struct run_announcer *run_announcer_new(struct loop *loop,
                                        const struct run_announcer_options *options)
{
	struct run_announcer *h = xcalloc(1, sizeof *h);
	const struct announcer_options of_us = { .find_path = place,
		                                 .connected = greet,
		                                 .self = h };

	h->options = *options;
	h->announcer = announcer_new(loop, &of_us);
	return h;
}

void run_announcer_connect(struct run_announcer *h)
{
	announcer_connect(h->announcer);
}

static void on_begin_sheet(void *self, const struct job_input_sheet *begun, uint32_t num)
{
	struct run_announcer *h = self;
	const struct sheet *sheet = job_row_sheet(h->options.job, num);

	(void)begun;
	if (sheet)
		announce_sheet(h, h->announcer, sheet);
}

static void on_end_sheet(void *self, uint32_t num, const struct job_end *how)
{
	struct run_announcer *h = self;

	announce_sheet_end(h, h->announcer, num, how);
}

static void on_event(void *self, enum event_kind kind, const char *name, uint64_t took_ns,
                     const char *data_json)
{
	struct run_announcer *h = self;
	struct json j = begin(h, the_job(h));

	json_put_any_str(&j, "name", name);
	json_put_fixed(&j, "at", clock_wall_ns() / NS_PER_US, 6);
	json_key(&j, "data");
	json_raw(&j, data_json, strlen(data_json));
	if (kind == EVENT_PHASE)
		json_put_fixed(&j, "seconds", took_ns / NS_PER_US, 6);
	json_end_object(&j);
	announcer_keep(h->announcer, kind == EVENT_PHASE ? "job.phase" : "job.mark", h->params.at);
}

const struct serve_observer run_announcer_observer = {
	.begin_sheet = on_begin_sheet,
	.end_sheet = on_end_sheet,
	.add_event = on_event,
};

void run_announcer_end(struct run_announcer *h, const struct job *job, bool is_stored)
{
	struct json j = begin(h, job);

	if (job->status == JOB_LOST)
		return;
	if (job->has_exit_code)
		json_put_i64(&j, "exit_code", job->exit_code);
	json_put_any_u64(&j, "signal", (uint64_t)job->signal);
	json_put_fixed(&j, "ended_at", job->ended_ns / NS_PER_US, 6);
	json_key(&j, "stored");
	json_bool(&j, is_stored);
	field_table_json_in(&j, &job_fields, IN_ANNOUNCED, job);
	send(h, h->announcer, &j, "job.end");
}

void run_announcer_free(struct run_announcer *h)
{
	if (!h)
		return;
	announcer_free(h->announcer);
	buf_done(&h->params);
	free(h);
}
