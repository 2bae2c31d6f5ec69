/* SPDX-License-Identifier: MIT */
#include "serve/job_methods.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/codec.h"
#include "rpc/params.h"
#include "serve/context.h"
#include "serve/hide.h"
#include "serve/job_list.h"

#define EVENTS_DEFAULT 50
#define LABEL_SENT_MAX 4096 /* longer ones are a mistake; shorter ones are cut to what is kept */

static int rpc_hello(void *self, const struct server_peer *peer, const json_t *params,
                     struct json *result, struct err *err)
{
	(void)self, (void)peer, (void)params, (void)err;
	json_begin_object(result);
	json_key(result, "protocol");
	json_u64(result, SERVE_PROTOCOL);
	json_key(result, "version");
	json_str(result, PROCTOR_VERSION);
	json_key(result, "capabilities");
	json_begin_array(result);
	for (const struct server_method *m = job_methods; m->name; m++)
		json_str(result, m->name);
	json_end_array(result);
	json_end_object(result);
	return 0;
}

static uint32_t count_running(const struct jobtab *t)
{
	uint32_t n = 0;

	vec_each(&t->sheets, sheet)
		n += sheet->status == JOB_RUNNING;
	return n;
}

static int daemon_status(void *self, const struct server_peer *peer, const json_t *params,
                         struct json *result, struct err *err)
{
	const struct job_methods *m = self;
	const struct jobtab *t = m->host.jobs(m->host.self);
	const struct job *job = t->jobs.len ? &t->jobs.at[0] : NULL;

	(void)peer, (void)params, (void)err;
	json_begin_object(result);
	json_key(result, "kind");
	json_str(result, "run");
	json_key(result, "pid");
	json_i64(result, getpid());
	json_key(result, "version");
	json_str(result, PROCTOR_VERSION);
	json_key(result, "protocol");
	json_u64(result, SERVE_PROTOCOL);
	json_key(result, "job_id");
	json_str(result, job ? job->id : NULL);
	json_key(result, "uptime_seconds");
	json_fixed(result, (clock_mono_ns() - m->opened_mono_ns) / NS_PER_MS, 3);
	json_key(result, "tier");
	json_str(result, job && job->tier[0] ? job->tier : NULL);
	json_key(result, "active_sheets");
	json_u64(result, count_running(t));
	json_end_object(result);
	return 0;
}

static int daemon_top(void *self, const struct server_peer *peer, const json_t *params,
                      struct json *result, struct err *err)
{
	const struct job_methods *m = self;
	const struct snapshot *snap = m->host.latest(m->host.self);

	(void)peer, (void)params, (void)err;
	if (snap)
		codec_snapshot(result, snap);
	else
		json_nil(result);
	return 0;
}

static int daemon_events(void *self, const struct server_peer *peer, const json_t *params,
                         struct json *result, struct err *err)
{
	const struct job_methods *m = self;
	uint64_t limit = EVENTS_DEFAULT;
	int r = params_u64(params, "limit", 0, INT32_MAX, &limit, err);

	(void)peer;
	if (r < 0)
		return r;
	json_begin_object(result);
	json_key(result, "events");
	recent_put(&m->recent, limit, result);
	json_end_object(result);
	return 0;
}

static int job_list(void *self, const struct server_peer *peer, const json_t *params,
                    struct json *result, struct err *err)
{
	const struct job_methods *m = self;

	(void)peer, (void)params, (void)err;
	job_list_put(m->host.jobs(m->host.self), result);
	return 0;
}

static int context_get(void *self, const struct server_peer *peer, const json_t *params,
                       struct json *result, struct err *err)
{
	const struct job_methods *m = self;
	uint64_t pid = 0;
	int r = params_u64(params, "pid", 1, INT32_MAX, &pid, err);

	(void)peer;
	if (r < 0)
		return r;
	context_put(m->host.latest(m->host.self), (pid_t)pid, result);
	return 0;
}

static int sheet_params(const json_t *params, uint64_t *ret_num, uint64_t *ret_total,
                        const char **ret_label, struct err *err)
{
	int r = params_u64(params, "sheet_num", 1, SERVE_SHEET_MAX, ret_num, err);

	if (r == 0)
		r = params_u64(params, "total", 1, SERVE_SHEET_MAX, ret_total, err);
	if (r == 0)
		r = params_text(params, "label", LABEL_SENT_MAX, ret_label, err);
	if (r == 0 && *ret_total && *ret_num > *ret_total)
		r = err_set(err, EINVAL, "sheet_num is beyond the total");
	return r;
}

static void put_sheet(const struct job_methods *m, uint32_t num, struct json *result)
{
	const struct jobtab *t = m->host.jobs(m->host.self);

	json_begin_object(result);
	json_key(result, "job_id");
	json_str(result, t->jobs.len ? t->jobs.at[0].id : NULL);
	json_key(result, "sheet_num");
	json_u64(result, num);
	json_end_object(result);
}

static int sheet_started(void *self, const struct server_peer *peer, const json_t *params,
                         struct json *result, struct err *err)
{
	const struct job_methods *m = self;
	uint64_t num = 0, total = 0;
	cleanup(buf_done) struct buf safe = { 0 };
	const char *text = "";
	char label[SHEET_LABEL_MAX];
	uint32_t opened;
	int r = sheet_params(params, &num, &total, &text, err);

	if (r < 0)
		return r;
	text_copy(label, sizeof label, hide_text(text, &safe));
	r = m->host.begin_sheet(m->host.self, (uint32_t)num, (uint32_t)total, label, peer->pid,
	                        &opened, err);
	if (r == 0)
		put_sheet(m, opened, result);
	return r;
}

static int end_sheet(const struct job_methods *m, const json_t *params, enum job_status status,
                     struct json *result, struct err *err)
{
	bool has_code = status == JOB_COMPLETED;
	uint64_t num = 0, code = 0, signal = 0;
	int r = params_u64(params, "sheet_num", 1, SERVE_SHEET_MAX, &num, err);

	if (r == 0 && !num)
		return err_set(err, EINVAL, "sheet_num is needed");
	if (r == 0 && status == JOB_FAILED) {
		has_code = params_has(params, "exit_code");
		r = params_u64(params, "exit_code", 0, 255, &code, err);
		if (r == 0)
			r = params_u64(params, "signal", 1, 64, &signal, err);
		if (r == 0 && has_code && signal)
			return err_set(err, EINVAL, "exit_code or signal, not both");
	}
	if (r == 0)
		r = m->host.end_sheet(m->host.self, (uint32_t)num, status, has_code, (int)code,
		                      (int)signal, err);
	if (r == 0)
		put_sheet(m, (uint32_t)num, result);
	return r;
}

static int sheet_completed(void *self, const struct server_peer *peer, const json_t *params,
                           struct json *result, struct err *err)
{
	(void)peer;
	return end_sheet(self, params, JOB_COMPLETED, result, err);
}

static int sheet_failed(void *self, const struct server_peer *peer, const json_t *params,
                        struct json *result, struct err *err)
{
	(void)peer;
	return end_sheet(self, params, JOB_FAILED, result, err);
}

/* What is said of the job: the name that must be there, and the data that may. */
struct note {
	struct buf name;
	char *data; /* JSON */
};

static void note_done(struct note *note)
{
	buf_done(&note->name);
	free(note->data);
}

static int note_params(const json_t *params, struct note *ret, struct err *err)
{
	const char *name = NULL;
	json_t *safe;
	int r = params_text(params, "name", SERVE_NAME_MAX, &name, err);

	if (r == 0 && !name)
		return err_set(err, EINVAL, "name is needed");
	if (r < 0)
		return r;
	hide_text(name, &ret->name);
	safe = json_deep_copy(params);
	hide_members(json_object_get(safe, "data"));
	r = params_object_text(safe, "data", SERVE_DATA_MAX, &ret->data, err);
	json_decref(safe);
	if (r == 0 && !ret->data)
		ret->data = xstrdup("{}");
	return r;
}

static void put_done(struct json *result)
{
	json_begin_object(result);
	json_end_object(result);
}

static int job_mark(void *self, const struct server_peer *peer, const json_t *params,
                    struct json *result, struct err *err)
{
	const struct job_methods *m = self;
	cleanup(note_done) struct note note = { 0 };
	int r = note_params(params, &note, err);

	(void)peer;
	if (r == 0)
		r = m->host.mark(m->host.self, note.name.at, note.data, err);
	if (r == 0)
		put_done(result);
	return r;
}

static int job_phase(void *self, const struct server_peer *peer, const json_t *params,
                     struct json *result, struct err *err)
{
	const struct job_methods *m = self;
	cleanup(note_done) struct note note = { 0 };
	uint64_t took_ns = 0;
	int r = note_params(params, &note, err);

	(void)peer;
	if (r == 0 && !params_has(params, "seconds"))
		return err_set(err, EINVAL, "seconds is needed");
	if (r == 0)
		r = params_seconds(params, "seconds", &took_ns, err);
	if (r == 0)
		r = m->host.phase(m->host.self, note.name.at, took_ns, note.data, err);
	if (r == 0)
		put_done(result);
	return r;
}

const struct server_method job_methods[] = {
	{ "rpc.hello", rpc_hello },
	{ "daemon.status", daemon_status },
	{ "daemon.top", daemon_top },
	{ "daemon.events", daemon_events },
	{ "job.list", job_list },
	{ "job.mark", job_mark },
	{ "job.phase", job_phase },
	{ "sheet.started", sheet_started },
	{ "sheet.completed", sheet_completed },
	{ "sheet.failed", sheet_failed },
	{ "context.get", context_get },
	{ NULL },
};
