/* SPDX-License-Identifier: MIT */
#include "view/field_view.h"

#include <string.h>

#include "model/blocked_call.h"
#include "model/record_fields.h"
#include "model/snapshot_json.h"
#include "view/flight_view.h"
#include "view/jobs_view.h"
#include "view/report_tables.h"
#include "view/snapshot_view.h"
#include "view/syscall_view.h"

/* Tables for people. Their columns show fields, which explain them. */
static const struct {
	const char *title;
	const struct table_columns *columns;
	const struct field_table *fields;
	const struct metric *metrics; /* of what is not among the fields */
	size_t n;
} lists[] = {
	{ "columns of ls", &jobs_view_columns, &job_fields, job_figures, JOB_FIGURE_COUNT },
	{ "columns of snapshot", &snapshot_view_columns, &live_process_fields },
	{ "columns of report: sheets", &report_sheet_columns, &sheet_fields },
	{ "columns of report: processes", &report_process_columns, &process_fields },
};

/* Where the keys are found. */
static const struct {
	const char *title;
	const struct field_table *fields[3];
	const struct metric *metrics; /* of what has no other members */
	size_t n;
} sections[] = {
	{ "machine: snapshot --json, SQL host_metrics",
	  { &snapshot_head_fields, &snapshot_count_fields, &snapshot_tail_fields } },
	{ "process: processes of snapshot --json, SQL process_metrics", { &live_process_fields } },
	{ "job: job_progress of snapshot --json", { &live_job_fields } },
	{ "control group: cgroup of snapshot --json", .metrics = cgroup_metrics,
	  .n = CGROUP_METRIC_COUNT },
	{ "GPU: gpus of snapshot --json, SQL gpu_metrics", { &live_gpu_fields } },
	{ "process on a GPU: snapshot --json, SQL gpu_processes", { &live_gpu_use_fields } },
	{ "job: ls --json, report --json, export", { &job_fields } },
	{ "figures of a job: ls --json, report --json, SQL jobs", .metrics = job_figures,
	  .n = JOB_FIGURE_COUNT },
	{ "report --json: the profile of the job, and", { &report_fields } },
	{ "profile of a job: report --json, job.profile", { &profile_fields } },
	{ "sheet_metrics of a profile, by number of the sheet", { &profile_sheet_fields } },
	{ "sheet: report --json, export", { &sheet_fields } },
	{ "recorded process: costly_processes of report --json, export", { &process_fields } },
	{ "event: events --json, export", { &event_fields } },
	{ "sample of a job: export", { &job_sum_fields } },
	{ "sample of a process: export", { &process_sample_fields } },
	{ "sample of a GPU: export", { &gpu_sample_fields } },
	{ "every record of an export", { &export_fields } },
	{ "anomaly: report --json, SQL anomalies", { &anomaly_fields } },
	{ "GPU during a job: report --json", { &gpu_fields } },
	{ "program: programs of report --json", { &report_program_fields } },
	{ "mark or phase: marks of report --json", { &report_mark_fields } },
	{ "what is worth knowing: notes of report --json", { &report_note_fields } },
	{ "what to request: next_request of report --json", { &report_next_request_fields } },
	{ "process with last calls: last_calls of report --json", { &flight_fields } },
	{ "last call: calls of last_calls, export", { &last_call_fields } },
	{ "system call: syscalls --json, syscalls of report --json", { &syscall_fields } },
	{ "call that a process is in: syscalls --json, blocked of report --json",
	  { &blocked_call_fields } },
};

static const char *const unit_names[] = {
	[UNIT_COUNT] = "", [UNIT_MILLI] = "", [UNIT_BYTES] = "bytes", [UNIT_MIB] = "MiB",
	[UNIT_NS] = "s",   [UNIT_PCT] = "%",  [UNIT_WH] = "Wh",
};

static const char *help_of_metric(const struct metric *metrics, size_t n, const char *key)
{
	for (const struct metric *m = metrics; m < metrics + n; m++)
		if (strcmp(m->key, key) == 0)
			return m->help;
	return NULL;
}

/* NULL: there is no such key. */
static const char *help_of_field(const struct field_table *fields, const char *key)
{
	const struct field *found = field_find(fields, key);
	const char *help = found ? found->help : NULL;

	for (const struct field *f = fields->at; !help && f < fields->at + fields->n; f++)
		help = help_of_metric(f->metrics, f->n_metrics, key);
	return help;
}

static void add_row(struct table *t, const char *key, const char *unit, const char *help)
{
	table_add(t, key, INK_PLAIN);
	table_add(t, unit, INK_LABEL);
	table_add(t, help ? help : "", INK_PLAIN);
}

static void add_metrics(struct table *t, const struct metric *metrics, size_t n)
{
	for (const struct metric *m = metrics; m < metrics + n; m++)
		add_row(t, m->key, unit_names[m->unit], m->help);
}

static void add_fields(struct table *t, const struct field_table *fields)
{
	for (const struct field *f = fields->at; f < fields->at + fields->n; f++)
		if (f->type == FIELD_READINGS)
			add_metrics(t, f->metrics, f->n_metrics);
		else
			add_row(t, f->key, f->type == FIELD_RATIO ? "%" : unit_names[f->unit],
			        f->help);
}

static const struct table_column three_columns[] = {
	{ NULL, TABLE_LEFT },
	{ NULL, TABLE_LEFT },
	{ NULL, TABLE_LEFT, .min_width = 24, .wraps = true },
};

/* Prints it below its title, and frees it. */
static void put_section(struct table *t, const char *title, struct canvas *to)
{
	t->columns = three_columns;
	t->n_columns = ARRAY_LEN(three_columns);
	t->indent = 2;
	canvas_put(to, INK_TITLE, title);
	canvas_newline(to);
	table_print(t, to);
	table_done(t);
	*t = (struct table){ 0 };
}

static void put_lists(struct canvas *to)
{
	struct table t = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		for (size_t n = 0; n < lists[i].columns->n; n++) {
			const struct table_column *c = &lists[i].columns->at[n];
			const char *help = help_of_field(lists[i].fields, c->key);

			if (!help)
				help = help_of_metric(lists[i].metrics, lists[i].n, c->key);
			add_row(&t, c->name, c->key, c->help ? c->help : help);
		}
		put_section(&t, lists[i].title, to);
		canvas_newline(to);
	}
}

void field_view(struct canvas *to)
{
	struct table t = { 0 };

	put_lists(to);
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		for (size_t n = 0; n < ARRAY_LEN(sections[i].fields) && sections[i].fields[n]; n++)
			add_fields(&t, sections[i].fields[n]);
		add_metrics(&t, sections[i].metrics, sections[i].n);
		if (i)
			canvas_newline(to);
		put_section(&t, sections[i].title, to);
	}
}
