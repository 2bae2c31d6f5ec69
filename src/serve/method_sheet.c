/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "engine/engine.h"
#include "kernel/process_lookup.h"
#include "model/record_fields.h"
#include "rpc/rpc_params.h"
#include "serve/input_redaction.h"
#include "serve/methods.h"
#include "serve/resource_context.h"

#define USAGE_MAX 1e18      /* in ns 30 years, in bytes more than there are */
#define LABEL_SENT_MAX 4096 /* longer ones are a mistake; shorter ones are cut to what is kept */

static int sheet_params(const json_t *params, uint64_t *ret_num, uint64_t *ret_total,
                        const char **ret_label, struct err *err)
{
	if (rpc_params_u64(params, "sheet_num", 1, SERVE_SHEET_MAX, ret_num, err) < 0 ||
	    rpc_params_u64(params, "total", 1, SERVE_SHEET_MAX, ret_total, err) < 0 ||
	    rpc_params_text(params, "label", LABEL_SENT_MAX, ret_label, err) < 0)
		return -err->code;
	if (*ret_total && *ret_num > *ret_total)
		return err_set(err, EINVAL, "sheet_num is beyond the total");
	return 0;
}

/* The usage of the process that opened it, read now: the last tick may be seconds ago. */
static bool read_opener(const struct methods *m, const struct sheet *sheet,
                        struct proc_readings *ret)
{
	struct proc_id id = { .pid = sheet->pid };

	if (!sheet->pid || sheet->is_wrapper || !m->host.engine)
		return false;
	process_lookup_find_start(engine_jobs(m->host.engine)->reader, &id);
	return id.start_ticks &&
	       process_lookup_usage(engine_jobs(m->host.engine)->reader, id, ret) &&
	       readings_has(ret, PROC_RSS);
}

void methods_publish_sheet(struct methods *m, const struct job *job, const struct sheet *sheet)
{
	const char *name = sheet->status == JOB_RUNNING     ? "sheet.started"
	                   : sheet->status == JOB_COMPLETED ? "sheet.completed"
	                                                    : "sheet.failed";
	struct resource_context_jobs jobs = methods_count_jobs(m, NULL);
	struct json j = { .out = &m->scratch };
	struct proc_readings now;
	double age_s;

	if (!m->bus)
		return;
	buf_reset(&m->scratch);
	json_begin_object(&j);
	field_table_json_in(&j, &sheet_fields, IN_EVENT, &(struct sheet_record){ .s = *sheet });
	json_key(&j, "resource_context");
	age_s = resource_context_sheet_json(&j, methods_latest(m), sheet, &jobs,
	                                    read_opener(m, sheet, &now) ? &now : NULL,
	                                    clock_boot_ns());
	json_put_double(&j, "context_age_seconds", age_s, 3);
	json_end_object(&j);
	methods_publish_of_job(m, name, job, sheet->num, m->scratch.at);
}

/* Answers the caller, and publishes the sheet. */
static void answer_and_publish(struct methods *m, job_handle job, uint32_t num, struct json *result)
{
	const struct job_row *row = job_roster_get(methods_jobs(m), job);
	const struct sheet *sheet = job_row_sheet(row, num);

	json_begin_object(result);
	json_put_str(result, "job_id", row->job.id);
	json_put_u64(result, "sheet_num", num);
	json_end_object(result);
	if (sheet)
		methods_publish_sheet(m, &row->job, sheet);
}

/* Whether the sheet is that of the job's processes: the caller only reports it. */
static bool is_reported(const struct methods *m, const struct rpc_server_peer *peer,
                        const struct job *job)
{
	struct proc_id caller = { .pid = peer->pid };

	if (job->has_recorder || !job->root.pid)
		return true;
	process_lookup_find_start(engine_jobs(m->host.engine)->reader, &caller);
	return proc_id_eq(caller, job->registrar) &&
	       jobs_find_process(engine_jobs(m->host.engine), caller.pid) != job->handle;
}

/* A recorder reports sheets that others opened, and some whose opener is gone. The caller is in no job that has
 * no process of its own, nor in one that it has registered for another process. */
static int find_opener(const struct methods *m, const struct rpc_server_peer *peer,
                       const json_t *params, struct job_input_sheet *begun, struct err *err)
{
	const struct job *job = methods_job(m, begun->job);
	uid_t owner;

	if (m->host.daemon && !rpc_params_has(params, "pid") && is_reported(m, peer, job))
		return 0;
	if (methods_find_member(m, peer, params, &begun->opener, &owner, err) == 0)
		return 0;
	if ((err->code != ENOENT && err->code != EALREADY) || !job->has_recorder)
		return -err->code;
	begun->opener = (struct proc_id){ 0 }; /* a short one ended before we read of it */
	return 0;
}

/* … and when they began. */
static int find_start(const struct methods *m, const json_t *params, struct job_input_sheet *begun,
                      struct err *err)
{
	const struct job *job = methods_job(m, begun->job);
	int r = job->has_recorder ? rpc_params_time(params, "started_at", &begun->started_ns, err)
	                          : 0;

	begun->started_ns = methods_clamp_time(job, begun->started_ns);
	return r;
}

/* All jobs share one table of sheets. */
static int check_share(const struct methods *m, const struct rpc_server_peer *peer, job_handle job,
                       struct err *err)
{
	const struct job_roster *t = methods_jobs(m);
	uid_t uid = methods_job(m, job)->uid;
	size_t n = 0;

	if (methods_trusts(peer))
		return 0;
	vec_each(&t->rows, row)
		n += (*row)->job.uid == uid ? (*row)->sheets.len : 0;
	if (n < SERVE_SHEETS_PER_UID_MAX)
		return 0;
	return err_set(err, ENOSPC, "a user may have %d sheets at a time",
	               SERVE_SHEETS_PER_UID_MAX);
}

/* Opens it, and publishes how the attempt before went. */
static int begin_sheet(struct methods *m, const struct job_input_sheet *begun, uint32_t *ret,
                       struct err *err)
{
	const struct job_row *row = job_roster_get(methods_jobs(m), begun->job);
	const struct sheet *known = begun->num ? job_row_sheet(row, begun->num) : NULL;
	struct sheet former = known ? *known : (struct sheet){ 0 };
	cleanup(buf_done) struct buf data = { 0 };
	struct json j = { .out = &data };

	if (job_input_begin_sheet(m->host.engine, begun, ret, err) < 0)
		return -err->code;
	if (!known)
		return 0;
	job_input_attempt_json(&j, &former, clock_wall_ns());
	methods_publish_event(m, &row->job, former.num,
	                      &(struct job_input_event){ .kind = EVENT_MARK,
	                                                 .name = JOB_INPUT_RETRIED,
	                                                 .data = data.at });
	return 0;
}

METHOD(method_sheet_started)
{
	struct methods *m = self;
	uint64_t num = 0, total = 0;
	cleanup(buf_done) struct buf safe = { 0 };
	const char *text = "";
	char label[SHEET_LABEL_MAX];
	struct job_input_sheet begun = { .label = label };
	uint32_t opened;

	if (methods_claim_job(m, peer, params, &begun.job, err) < 0 ||
	    sheet_params(params, &num, &total, &text, err) < 0 ||
	    rpc_params_bool(params, "wrapper", &begun.is_wrapper, err) < 0 ||
	    find_start(m, params, &begun, err) < 0 ||
	    find_opener(m, peer, params, &begun, err) < 0 ||
	    check_share(m, peer, begun.job, err) < 0 ||
	    methods_check_quota(m, peer, begun.job, strlen(text), err) < 0)
		return -err->code;
	text_copy(label, sizeof label, input_redaction_text(text, &safe));
	begun.num = (uint32_t)num;
	begun.total = (uint32_t)total;
	if (begin_sheet(m, &begun, &opened, err) < 0)
		return -err->code;
	if (m->host.observer)
		m->host.observer->begin_sheet(m->host.observer_self, &begun, opened);
	answer_and_publish(m, begun.job, opened, result);
	return 0;
}

int methods_end_params(const json_t *params, struct job_end *ret, struct err *err)
{
	uint64_t code = 0, signal = 0;

	ret->has_exit_code = rpc_params_has(params, "exit_code");
	if (rpc_params_u64(params, "exit_code", 0, 255, &code, err) < 0 ||
	    rpc_params_u64(params, "signal", 1, 64, &signal, err) < 0)
		return -err->code;
	if (ret->has_exit_code && signal)
		return err_set(err, EINVAL, "exit_code or signal, not both");
	ret->exit_code = (int)code;
	ret->signal = (int)signal;
	return 0;
}

static enum quality quality_named(const char *key)
{
	for (enum quality q = QUALITY_MISSING + 1; key && q < QUALITY_COUNT; q++)
		if (strcmp(quality_key(q), key) == 0)
			return q;
	return QUALITY_MISSING;
}

/* As reports have them: numbers in their unit, and the quality of each. */
static int figure_param(const json_t *usage, const struct metric *m, struct figure *ret,
                        struct err *err)
{
	const json_t *value = json_object_get(usage, m->key);
	const json_t *quality = json_object_get(json_object_get(usage, "quality"), m->key);
	double inside = json_number_value(value) * metric_unit_scale(m->unit);

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_number(value) || !(inside >= 0) || inside > USAGE_MAX)
		return err_set(err, EINVAL, "usage.%s is not a number from 0 on", m->key);
	*ret = (struct figure){ (uint64_t)inside, quality_named(json_string_value(quality)) };
	if (!figure_is_known(*ret))
		return err_set(err, EINVAL, "usage.quality.%s is none of the qualities", m->key);
	return 0;
}

/* The usage of a wrapper's command. */
static int usage_param(const json_t *params, struct sheet_use *ret, struct err *err)
{
	const json_t *usage = json_object_get(params, "usage");
	int r = 0;

	if (!rpc_params_has(params, "usage"))
		return 0;
	if (!json_is_object(usage))
		return err_set(err, EINVAL, "usage is not an object");
	for (enum sheet_figure i = 0; r == 0 && i < SHEET_FIGURE_COUNT; i++)
		r = figure_param(usage, &sheet_figures[i], &ret->figures[i], err);
	return r;
}

static int end_sheet(struct methods *m, const struct rpc_server_peer *peer, const json_t *params,
                     struct job_end *how, struct json *result, struct err *err)
{
	struct sheet_use used = { .max_cpu_ratio = (double)NAN };
	uint64_t num = 0;
	job_handle job;

	if (methods_claim_job(m, peer, params, &job, err) < 0 ||
	    rpc_params_u64(params, "sheet_num", 1, SERVE_SHEET_MAX, &num, err) < 0)
		return -err->code;
	if (!num)
		return err_set(err, EINVAL, "sheet_num is needed");
	if ((how->status == JOB_FAILED && methods_end_params(params, how, err) < 0) ||
	    usage_param(params, &used, err) < 0 ||
	    job_input_end_sheet(m->host.engine, job, (uint32_t)num, how,
	                        rpc_params_has(params, "usage") ? &used : NULL, err) < 0)
		return -err->code;
	if (m->host.observer)
		m->host.observer->end_sheet(m->host.observer_self, (uint32_t)num, how);
	answer_and_publish(m, job, (uint32_t)num, result);
	return 0;
}

METHOD(method_sheet_completed)
{
	struct job_end how = { .status = JOB_COMPLETED, .has_exit_code = true };

	return end_sheet(self, peer, params, &how, result, err);
}

METHOD(method_sheet_failed)
{
	struct job_end how = { .status = JOB_FAILED };

	return end_sheet(self, peer, params, &how, result, err);
}
