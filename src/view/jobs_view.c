/* SPDX-License-Identifier: MIT */
#include "view/jobs_view.h"

#include "model/record_fields.h"
#include "view/format.h"
#include "view/job_view.h"

/* What is least missed goes first when the terminal is narrow. */
static const struct table_column columns[] = {
	{ "JOB", TABLE_LEFT, .min_width = 16 },
	{ "TYPE", TABLE_LEFT, 4, .min_width = 8 },
	{ "STARTED", TABLE_LEFT, 3 },
	{ "TOOK", TABLE_RIGHT, 2 },
	{ "RESULT", TABLE_LEFT, .min_width = 13 },
	{ "CPU", TABLE_RIGHT, 5 },
	{ "PEAK", TABLE_RIGHT, 6 },
	{ "PROCS", TABLE_RIGHT, 7 },
};

static void add_figure(struct jobs_view *view, const struct job *job, enum job_figure id)
{
	table_add_figure(&view->table,
	                 figure_words(job->figures[id], job_figures[id].unit, view->unicode).at,
	                 INK_PLAIN);
}

/* Of a lost one only the last sign of life is known. */
static struct words took_words(const struct jobs_view *view, const struct job *job, uint64_t took)
{
	const struct figure figure = {
		.value = took,
		.quality = !took                     ? QUALITY_MISSING
		           : job->status == JOB_LOST ? QUALITY_AT_LEAST
		                                     : QUALITY_EXACT,
	};

	return figure_words(figure, UNIT_NS, view->unicode);
}

static void add_took(struct jobs_view *view, const struct job *job)
{
	uint64_t took = job->took_ns;

	if (job->status == JOB_RUNNING && view->now_ns > job->started_ns)
		took = view->now_ns - job->started_ns;
	else if (!took &&
	         job->ended_ns > job->started_ns) /* its end was not recorded: by the wall clock */
		took = job->ended_ns - job->started_ns;
	table_add_figure(&view->table, took_words(view, job, took).at, INK_PLAIN);
}

void jobs_view_add(struct jobs_view *view, const struct job *job)
{
	struct table *t = &view->table;
	bool has_total = figure_is_known(job->figures[JOB_FIGURE_PEAK_TOTAL]);

	t->columns = columns;
	t->n_columns = ARRAY_LEN(columns);
	table_add(t, job->id, INK_PLAIN);
	table_add(t, job->type, INK_PLAIN);
	table_add(t, format_when(job->started_ns, view->now_ns).at, INK_PLAIN);
	add_took(view, job);
	table_add(t, job_result(job).at, job_ink(job->status));
	add_figure(view, job, JOB_FIGURE_CPU);
	add_figure(view, job, has_total ? JOB_FIGURE_PEAK_TOTAL : JOB_FIGURE_PEAK_RSS);
	add_figure(view, job, JOB_FIGURE_PROCESSES);
}

void jobs_view_print(const struct jobs_view *view, struct canvas *to)
{
	table_print(&view->table, to);
}

void jobs_view_done(struct jobs_view *view)
{
	table_done(&view->table);
}

void jobs_json_add(struct json *j, const struct job *job)
{
	json_begin_object(j);
	fields_json(j, &job_fields, job);
	json_key(j, "result");
	json_str(j, job_result(job).at);
	json_end_object(j);
}
