/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "rpc/params.h"
#include "serve/context.h"
#include "serve/hide.h"
#include "serve/job_list.h"
#include "serve/methods.h"

#define LABEL_SENT_MAX 4096 /* longer ones are a mistake; shorter ones are cut to what is kept */

METHOD(method_job_list)
{
	const struct methods *m = self;

	(void)peer, (void)params, (void)err;
	job_list_put(m->host.jobs(m->host.self), result);
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

static void put_sheet(const struct methods *m, uint32_t num, struct json *result)
{
	const struct jobtab *t = m->host.jobs(m->host.self);

	json_begin_object(result);
	json_key(result, "job_id");
	json_str(result, t->jobs.len ? t->jobs.at[0].id : NULL);
	json_key(result, "sheet_num");
	json_u64(result, num);
	json_end_object(result);
}

/* Sheet events carry the resource context of who opened the sheet. */
static void announce_sheet(struct methods *m, const char *name, uint32_t num)
{
	const struct jobtab *t = m->host.jobs(m->host.self);
	struct sheet *sheet = jobtab_sheet(t, 0, num);
	struct json j = { .out = &m->scratch };

	if (!m->bus || !sheet)
		return;
	buf_reset(&m->scratch);
	json_begin_object(&j);
	json_key(&j, "sheet_num");
	json_u64(&j, num);
	json_key(&j, "label");
	json_str(&j, sheet->label[0] ? sheet->label : NULL);
	json_key(&j, "status");
	json_str(&j, job_status_name(sheet->status));
	json_key(&j, "context");
	context_put(m->host.latest(m->host.self), sheet->pid, &j);
	json_end_object(&j);
	methods_publish(m, name, t->jobs.at[0].id, t->jobs.at[0].uid, m->scratch.at);
}

METHOD(method_sheet_started)
{
	struct methods *m = self;
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
	if (r < 0)
		return r;
	put_sheet(m, opened, result);
	announce_sheet(m, "sheet.started", opened);
	return 0;
}

static int end_sheet(struct methods *m, const json_t *params, enum job_status status,
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
	if (r < 0)
		return r;
	put_sheet(m, (uint32_t)num, result);
	announce_sheet(m, status == JOB_COMPLETED ? "sheet.completed" : "sheet.failed",
	               (uint32_t)num);
	return 0;
}

METHOD(method_sheet_completed)
{
	(void)peer;
	return end_sheet(self, params, JOB_COMPLETED, result, err);
}

METHOD(method_sheet_failed)
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

METHOD(method_job_mark)
{
	const struct methods *m = self;
	cleanup(note_done) struct note note = { 0 };
	int r = note_params(params, &note, err);

	(void)peer;
	if (r == 0)
		r = m->host.mark(m->host.self, note.name.at, note.data, err);
	if (r == 0)
		put_done(result);
	return r;
}

METHOD(method_job_phase)
{
	const struct methods *m = self;
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
