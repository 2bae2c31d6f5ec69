/* SPDX-License-Identifier: MIT */
#include "view/field_view.h"

#include "model/record_fields.h"
#include "view/table.h"

/* Where the keys are found; one table each. */
static const struct {
	const char *title;
	const struct metric *metrics;
	size_t n;
	const struct field_table *fields;
} sections[] = {
	{ "machine: snapshot --json, SQL host_metrics", host_metrics, HOST_METRIC_COUNT, NULL },
	{ "process: snapshot --json, SQL process_metrics", proc_metrics, PROC_METRIC_COUNT, NULL },
	{ "control group: snapshot --json", cgroup_metrics, CGROUP_METRIC_COUNT, NULL },
	{ "GPU: snapshot --json, SQL gpu_metrics", gpu_metrics, GPU_METRIC_COUNT, NULL },
	{ "process on a GPU: snapshot --json, SQL gpu_processes", gpu_use_metrics,
	  GPU_USE_METRIC_COUNT, NULL },
	{ "job: ls --json, report --json, export", NULL, 0, &job_fields },
	{ "figures of a job: ls --json, report --json, SQL jobs", job_figures, JOB_FIGURE_COUNT,
	  NULL },
	{ "profile of a job: report --json, job.profile", NULL, 0, &profile_fields },
	{ "sheet: report --json, export", NULL, 0, &sheet_fields },
	{ "recorded process: report --json, export", NULL, 0, &process_fields },
	{ "event: events --json, export", NULL, 0, &event_fields },
	{ "sample of a job: export", NULL, 0, &job_sum_fields },
	{ "sample of a process: export", NULL, 0, &process_sample_fields },
	{ "sample of a GPU: export", NULL, 0, &gpu_sample_fields },
	{ "every record of an export", NULL, 0, &export_fields },
	{ "anomaly: report --json, SQL anomalies", NULL, 0, &anomaly_fields },
	{ "GPU during a job: report --json", NULL, 0, &gpu_fields },
};

static const char *const unit_names[] = {
	[UNIT_COUNT] = "",  [UNIT_MILLI] = "", [UNIT_BYTES] = "bytes",
	[UNIT_MIB] = "MiB", [UNIT_NS] = "s",   [UNIT_PCT] = "%",
	[UNIT_WH] = "Wh",
};

static void add_row(struct table *t, const char *key, const char *unit, const char *help)
{
	table_add(t, key, INK_PLAIN);
	table_add(t, unit, INK_LABEL);
	table_add(t, help ? help : "", INK_PLAIN);
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
		const struct field_table *fields = sections[i].fields;

		for (size_t m = 0; m < sections[i].n; m++)
			add_row(&t, sections[i].metrics[m].key,
			        unit_names[sections[i].metrics[m].unit],
			        sections[i].metrics[m].help);
		for (size_t f = 0; fields && f < fields->n; f++)
			add_row(&t, fields->at[f].key,
			        fields->at[f].type == FIELD_RATIO ? "%"
			                                          : unit_names[fields->at[f].unit],
			        fields->at[f].help);
		if (i)
			canvas_newline(to);
		canvas_put(to, INK_TITLE, sections[i].title);
		canvas_newline(to);
		table_print(&t, to);
		table_done(&t);
	}
}
