/* SPDX-License-Identifier: MIT */
#include "view/jobs_view.h"

#include <string.h>

#include "base/mem.h"
#include "model/record_fields.h"
#include "view/format.h"
#include "view/job_view.h"

#define COMMIT_SHOWN 12

/* The least important columns are dropped first when the terminal is narrow. */
static const struct table_column columns[] = {
	{ "JOB", TABLE_LEFT, .min_width = 16, .in_middle = true, .key = "job_id" },
	{ "TYPE", TABLE_LEFT, 4, .min_width = 8, .key = "job_type" },
	{ "STARTED", TABLE_LEFT, 3, .key = "started_at" },
	{ "TOOK", TABLE_RIGHT, 2, .key = "duration_seconds" },
	{ "RESULT", TABLE_LEFT, .min_width = 13, .key = "outcome",
	  .help = "ok, or why it failed, as far as is known" },
	{ "CPU", TABLE_RIGHT, 5, .key = "cpu_seconds" },
	{ "USED", TABLE_RIGHT, 6, .key = "peak_used_mb" },
	{ "OF LIMIT", TABLE_RIGHT, 11, .is_extra = true, .key = "allowed_memory_mb",
	  .help = "USED as a share of that limit; -: only the machine limits it" },
	{ "PROCS", TABLE_RIGHT, 7, .key = "processes" },
	{ "GPU MEM", TABLE_RIGHT, 8, .key = "peak_gpu_memory_mb" },
	{ "TAGS", TABLE_LEFT, 10, .min_width = 12, .is_extra = true, .key = "tags" },
	{ "COMMAND", TABLE_LEFT, 9, .min_width = 16, .is_extra = true, .key = "command" },
};
const struct table_columns jobs_view_columns = TABLE_COLUMNS(columns);
static const struct table_column brief_columns[] = {
	{ "JOB", TABLE_LEFT, .min_width = 16, .in_middle = true },
	{ "STARTED", TABLE_LEFT, 1 },
	{ "RESULT", TABLE_LEFT, .min_width = 13 },
};

static void add_figure(struct jobs_view *view, const struct job *job, enum job_figure id)
{
	job_view_add_figure(&view->table, job->figures[id], job_figures[id].unit, view->unicode);
}

/* The duration of a lost job ends with its last record. */
static void add_took(struct jobs_view *view, const struct job *job)
{
	uint64_t took = job_took_ns(job, view->now_ns);
	enum quality quality = job->status == JOB_LOST ? QUALITY_AT_LEAST : QUALITY_EXACT;

	job_view_add_figure(&view->table, (struct figure){ took, took ? quality : QUALITY_MISSING },
	                    UNIT_NS, view->unicode);
}

/* As it is written on the command line. */
static void add_id(struct jobs_view *view, const struct job *job)
{
	const char *user = view->users ? user_names_name(view->users, job->uid) : NULL;
	cleanup(freep) char *id = NULL;

	if (job->uid == view->uid)
		id = xstrdup(job->id);
	else if (user)
		id = xasprintf("%s:%s", user, job->id);
	else
		id = xasprintf("%u:%s", (unsigned)job->uid, job->id);
	table_add(&view->table, id, INK_PLAIN);
}

/* A commit, by as many digits as git shows: JSON has all of them. */
static size_t shown_length(const struct buf *value)
{
	size_t len = value->len;

	if ((len == 40 || len == 64) && strspn(value->at, "0123456789abcdef") == len)
		return COMMIT_SHOWN;
	return len;
}

static void add_tags(struct jobs_view *view, const struct job *job)
{
	cleanup(buf_done) struct buf key = { 0 }, value = { 0 }, text = { 0 };
	struct scan at = scan_str(job->tags);

	while (job_tags_next(&at, &key, &value))
		buf_printf(&text, "%s%s=%.*s", text.len ? " " : "", key.at ? key.at : "",
		           (int)shown_length(&value), value.at ? value.at : "");
	table_addn(&view->table, text.at, text.len, INK_PLAIN);
}

void jobs_view_add_brief(struct jobs_view *view, const struct job *job)
{
	struct table *t = &view->table;

	t->columns = brief_columns;
	t->n_columns = ARRAY_LEN(brief_columns);
	t->indent = 2;
	add_id(view, job);
	table_add(t, format_when(job->started_ns, view->now_ns).at, INK_PLAIN);
	table_add(t, job_view_result(job).at, job_view_ink(job->status));
}

void jobs_view_add(struct jobs_view *view, const struct job *job)
{
	struct table *t = &view->table;

	t->columns = columns;
	t->n_columns = ARRAY_LEN(columns);
	add_id(view, job);
	table_add(t, job->type, INK_PLAIN);
	table_add(t, format_when(job->started_ns, view->now_ns).at, INK_PLAIN);
	add_took(view, job);
	table_add(t, job_view_result(job).at, job_view_ink(job->status));
	add_figure(view, job, JOB_FIGURE_CPU);
	add_figure(view, job, JOB_FIGURE_PEAK_USED);
	job_view_add_figure(t, job_view_share_of_limit(job), UNIT_PCT, view->unicode);
	add_figure(view, job, JOB_FIGURE_PROCESSES);
	add_figure(view, job, JOB_FIGURE_PEAK_GPU_MEMORY);
	add_tags(view, job);
	table_add(t, job->command, INK_PLAIN);
}

void jobs_view_add_json(struct json *j, const struct job *job)
{
	json_begin_object(j);
	field_table_json(j, &job_fields, job);
	json_put_str(j, "result", job_view_result(job).at);
	json_end_object(j);
}
