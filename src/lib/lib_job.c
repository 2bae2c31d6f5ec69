/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/lib_handle.h"

/* ---- jobs and sheets ------------------------------------------------------------------------- */

/* A member that only a later header knows would be ignored silently. */
static int check_room(struct proctor *p, void *const reserved[static PROCTOR_ROOM])
{
	for (int i = 0; i < PROCTOR_ROOM; i++)
		if (reserved[i])
			return err_set(
				&p->err, EINVAL,
				"the struct was not initialised with zeros, or needs a newer library");
	return 0;
}

static int copy_job_id(struct proctor *p, json_t *take_result, char ret_id[static PROCTOR_ID_MAX])
{
	const char *id = json_string_value(json_object_get(take_result, "job_id"));
	int r = 0;

	if (!id)
		r = err_set(&p->err, EPROTO, "the answer has no job_id");
	else if (strlen(id) >= PROCTOR_ID_MAX)
		r = err_set(&p->err, EPROTO, "the job_id of the answer is longer than %d bytes",
		            PROCTOR_ID_MAX - 1);
	else
		snprintf(ret_id, PROCTOR_ID_MAX, "%s", id);
	json_decref(take_result);
	return r;
}

EXPORT int proctor_job_start(struct proctor *p, const struct proctor_job *job,
                             char ret_id[PROCTOR_ID_MAX])
{
	json_t *result = NULL;
	struct args a;
	int r;

	if (!p)
		return -ENOTCONN;
	r = check_room(p, job->reserved);
	if (r < 0)
		return r;
	args_begin(&a);
	args_str(&a, "job_id", job->id);
	args_str(&a, "job_type", job->type);
	args_str(&a, "command", job->command);
	args_str(&a, "cwd", job->cwd);
	args_json(&a, "tags", job->tags);
	args_num(&a, "pid", (uint64_t)job->pid);
	args_num(&a, "total_sheets", job->total_sheets);
	args_str(&a, "workspace", job->workspace);
	r = args_call(&a, p, "job.start", &result);
	return r < 0 ? r : copy_job_id(p, result, ret_id);
}

static void put_end(struct args *a, const struct proctor_end *how)
{
	if (how && how->signal)
		args_num(a, "signal", (uint64_t)how->signal);
	else if (how)
		args_num(a, "exit_code", (uint64_t)how->exit_code);
}

static bool is_success(const struct proctor_end *how)
{
	return !how || (!how->signal && !how->exit_code);
}

EXPORT int proctor_job_end(struct proctor *p, const char *id, const struct proctor_end *how)
{
	struct args a;

	if (!p)
		return -ENOTCONN;
	args_begin(&a);
	args_str(&a, "job_id", id);
	args_str(&a, "status", is_success(how) ? "completed" : "failed");
	put_end(&a, how);
	return args_call(&a, p, "job.end", NULL);
}

EXPORT int proctor_sheet_start(struct proctor *p, const struct proctor_sheet *sheet)
{
	json_t *result = NULL;
	struct args a;
	int r;

	if (!p)
		return -ENOTCONN;
	r = check_room(p, sheet->reserved);
	if (r < 0)
		return r;
	args_begin(&a);
	args_str(&a, "job_id", sheet->job_id);
	args_num(&a, "sheet_num", sheet->num);
	args_num(&a, "total", sheet->total);
	args_num(&a, "pid", (uint64_t)sheet->pid);
	args_str(&a, "label", sheet->label && *sheet->label ? sheet->label : NULL);
	r = args_call(&a, p, "sheet.started", &result);
	if (r == 0)
		r = (int)json_integer_value(json_object_get(result, "sheet_num"));
	json_decref(result);
	return r;
}

EXPORT int proctor_sheet_end(struct proctor *p, const char *job_id, unsigned num,
                             const struct proctor_end *how)
{
	struct args a;

	if (!p)
		return -ENOTCONN;
	args_begin(&a);
	args_str(&a, "job_id", job_id);
	args_num(&a, "sheet_num", num);
	if (!is_success(how))
		put_end(&a, how);
	return args_call(&a, p, is_success(how) ? "sheet.completed" : "sheet.failed", NULL);
}

/* ---- marks and phases ------------------------------------------------------------------------ */

EXPORT int proctor_mark(struct proctor *p, const char *name, const char *data)
{
	struct args a;

	if (!p)
		return -ENOTCONN;
	args_begin(&a);
	args_str(&a, "name", name);
	args_json(&a, "data", data);
	return args_call(&a, p, "job.mark", NULL);
}

EXPORT int proctor_phase(struct proctor *p, const char *name, double seconds, const char *data)
{
	struct args a;

	if (!p)
		return -ENOTCONN;
	args_begin(&a);
	args_str(&a, "name", name);
	json_key(&a.j, "seconds");
	json_exact(&a.j, seconds);
	args_json(&a, "data", data);
	return args_call(&a, p, "job.phase", NULL);
}

/* ---- context --------------------------------------------------------------------------------- */

static double number(const json_t *from, const char *key)
{
	const json_t *v = json_object_get(from, key);

	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static long count(const json_t *from, const char *key)
{
	const json_t *v = json_object_get(from, key);

	return json_is_integer(v) ? (long)json_integer_value(v) : -1;
}

/* Joins as many names as fit. */
static void join_names(const json_t *from, char *to, size_t size)
{
	size_t i, len = 0;
	json_t *item;

	to[0] = '\0';
	json_array_foreach(from, i, item)
	{
		const char *text = json_string_value(item);

		if (!text || len + strlen(text) + 2 > size)
			continue;
		len += (size_t)snprintf(to + len, size - len, "%s%s", len ? "," : "", text);
	}
}

/* With a NULL answer every member is unknown. */
static void fill_context(const json_t *answer, struct proctor_context *ret)
{
	const char *pressure = json_string_value(json_object_get(answer, "pressure_level"));

	*ret = (struct proctor_context){ .rss_mb = number(answer, "rss_mb"),
		                         .cpu_pct = number(answer, "cpu_pct"),
		                         .daemon_rss_mb = number(answer, "daemon_rss_mb"),
		                         .running_jobs = count(answer, "running_jobs"),
		                         .active_sheets = count(answer, "active_sheets") };
	snprintf(ret->pressure, sizeof ret->pressure, "%s", pressure ? pressure : "");
	join_names(json_object_get(answer, "anomalies_active"), ret->anomalies,
	           sizeof ret->anomalies);
}

EXPORT int proctor_context(struct proctor *p, pid_t pid, struct proctor_context *ret)
{
	json_t *result = NULL;
	struct args a;
	int r;

	fill_context(NULL, ret);
	if (!p)
		return -ENOTCONN;
	args_begin(&a);
	args_num(&a, "pid", (uint64_t)pid);
	r = args_call(&a, p, "context.get", &result);
	if (r < 0)
		return r;
	fill_context(result, ret);
	json_decref(result);
	return 0;
}
