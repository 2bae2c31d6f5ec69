/* SPDX-License-Identifier: MIT */
#include "view/field_view.h"

#include "model/blocked_call.h"
#include "model/record_fields.h"
#include "model/snapshot_json.h"
#include "view/table.h"

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
	{ "profile of a job: report --json, job.profile", { &profile_fields } },
	{ "sheet: report --json, export", { &sheet_fields } },
	{ "recorded process: report --json, export", { &process_fields } },
	{ "event: events --json, export", { &event_fields } },
	{ "sample of a job: export", { &job_sum_fields } },
	{ "sample of a process: export", { &process_sample_fields } },
	{ "sample of a GPU: export", { &gpu_sample_fields } },
	{ "every record of an export", { &export_fields } },
	{ "anomaly: report --json, SQL anomalies", { &anomaly_fields } },
	{ "GPU during a job: report --json", { &gpu_fields } },
	{ "call that a process is in: syscalls --json", { &blocked_call_fields } },
};

static const char *const unit_names[] = {
	[UNIT_COUNT] = "", [UNIT_MILLI] = "", [UNIT_BYTES] = "bytes", [UNIT_MIB] = "MiB",
	[UNIT_NS] = "s",   [UNIT_PCT] = "%",  [UNIT_WH] = "Wh",
};

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

void field_view(struct canvas *to)
{
	static const struct table_column columns[] = {
		{ NULL, TABLE_LEFT },
		{ NULL, TABLE_LEFT },
		{ NULL, TABLE_LEFT, .min_width = 24, .wraps = true },
	};

	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		struct table t = { .columns = columns,
			           .n_columns = ARRAY_LEN(columns),
			           .indent = 2 };

		for (size_t n = 0; n < ARRAY_LEN(sections[i].fields) && sections[i].fields[n]; n++)
			add_fields(&t, sections[i].fields[n]);
		add_metrics(&t, sections[i].metrics, sections[i].n);
		if (i)
			canvas_newline(to);
		canvas_put(to, INK_TITLE, sections[i].title);
		canvas_newline(to);
		table_print(&t, to);
		table_done(&t);
	}
}
