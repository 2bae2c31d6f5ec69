/* SPDX-License-Identifier: MIT */
#include "view/diff_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/record_fields.h"
#include "report/diff_report.h"
#include "view/format.h"
#include "view/job_view.h"
#include "view/table.h"

#define PROGRAMS_SHOWN 10
#define SHEETS_SHOWN 40
#define ALIKE 0.01 /* a smaller difference is noise */

static const char *bound_sign(enum diff_bound bound, bool unicode)
{
	switch (bound) {
	case DIFF_AT_LEAST:
		return unicode ? "≥" : ">=";
	case DIFF_AT_MOST:
		return unicode ? "≤" : "<=";
	case DIFF_ROUGH:
		return "~";
	case DIFF_EXACT:
		break;
	}
	return "";
}

/* "1.24×"; "same" within a percent. Bounds and samples are marked as such: "≥1.24×",
 * "~same". */
static void add_ratio(struct table *t, const struct canvas *to, struct diff_pair pair)
{
	const char *sign = bound_sign(diff_bound(pair), to->unicode);
	double ratio = diff_ratio(pair);
	char text[40];

	if (diff_is_comparable(pair) && pair.a.value == pair.b.value)
		ratio = 1;
	if (!isfinite(ratio)) {
		table_add_figure(t, NULL, INK_PLAIN);
		return;
	}
	if (fabs(ratio - 1) < ALIKE) {
		snprintf(text, sizeof text, "%ssame", *sign ? "~" : "");
		table_add(t, text, INK_QUIET);
		return;
	}
	snprintf(text, sizeof text, "%s%.*f%s", sign,
	         pair.b.value == 0 ? 0
	         : ratio < 9.995   ? 2
	                           : ratio < 99.95,
	         ratio, to->unicode ? "×" : "x");
	table_add(t, text, INK_STRONG);
}

static void add_figures(struct table *t, const struct canvas *to, struct diff_pair pair,
                        enum metric_unit unit)
{
	job_add_figure(t, pair.a, unit, to->unicode);
	job_add_figure(t, pair.b, unit, to->unicode);
	add_ratio(t, to, pair);
}

static void add_pair(struct table *t, const struct canvas *to, const char *name,
                     struct diff_pair pair, enum metric_unit unit)
{
	if (!figure_is_known(pair.a) && !figure_is_known(pair.b))
		return;
	table_add(t, name, INK_PLAIN);
	add_figures(t, to, pair, unit);
}

static void add_words(struct table *t, const char *name, const char *a, const char *b,
                      const char *ratio)
{
	table_add(t, name, INK_PLAIN);
	table_add(t, a, INK_PLAIN);
	table_add(t, b, INK_PLAIN);
	table_add(t, ratio, INK_QUIET);
}

static const char *sameness(const char *a, const char *b)
{
	return strcmp(a, b) == 0 ? "same" : "";
}

static void put_figures(const struct report *a, const struct report *b, struct canvas *to)
{
	const struct table_column columns[] = {
		{ "", TABLE_LEFT, .min_width = 10 },
		{ a->job.id, TABLE_RIGHT, .min_width = 9 },
		{ b->job.id, TABLE_RIGHT, .min_width = 9 },
		{ "ratio", TABLE_RIGHT },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };
	struct words result_a = job_result(&a->job), result_b = job_result(&b->job);

	add_words(&t, "type", a->job.type, b->job.type, sameness(a->job.type, b->job.type));
	add_words(&t, "started", format_when(a->job.started_ns, a->now_ns).at,
	          format_when(b->job.started_ns, b->now_ns).at, ""); /* never compared */
	add_words(&t, "result", result_a.at, result_b.at, sameness(result_a.at, result_b.at));
	add_pair(&t, to, "took", diff_took(a, b), UNIT_NS);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		if (job_figures[i].label &&
		    (i != JOB_FIGURE_GPUS || job_count(&a->job, i) || job_count(&b->job, i)))
			add_pair(&t, to, job_figures[i].label,
			         (struct diff_pair){ a->job.figures[i], b->job.figures[i] },
			         job_figures[i].unit);
	table_print(&t, to);
	table_done(&t);
}

static void add_result(struct table *t, const struct sheet_record *s)
{
	table_add(t, s->s.num ? sheet_result(&s->s).at : "-",
	          s->s.num ? job_ink(s->s.status) : INK_QUIET);
}

static struct diff_pair sheet_cpu(const struct diff_sheet *s)
{
	return (struct diff_pair){ s->a->use.figures[SHEET_FIGURE_CPU],
		                   s->b->use.figures[SHEET_FIGURE_CPU] };
}

static struct diff_pair sheet_peak(const struct diff_sheet *s)
{
	return (struct diff_pair){ s->a->use.figures[SHEET_FIGURE_PEAK_RSS],
		                   s->b->use.figures[SHEET_FIGURE_PEAK_RSS] };
}

static void add_sheet(struct table *t, const struct canvas *to, const struct diff_sheet *s)
{
	const struct sheet *any = s->a->s.num ? &s->a->s : &s->b->s;
	char text[SHEET_LABEL_MAX + 16];

	snprintf(text, sizeof text, "%u %s", any->num, any->label);
	table_add(t, text, INK_PLAIN);
	add_figures(t, to, diff_sheet_took(s), UNIT_NS);
	add_ratio(t, to, sheet_cpu(s));
	add_ratio(t, to, sheet_peak(s));
	add_result(t, s->a);
	add_result(t, s->b);
}

static void put_sheets(const struct diff *d, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "sheet", TABLE_LEFT, .min_width = 8 },
		{ "took", TABLE_RIGHT },
		{ "took", TABLE_RIGHT },
		{ "ratio", TABLE_RIGHT },
		{ "cpu", TABLE_RIGHT, 3 },
		{ "peak", TABLE_RIGHT, 4 },
		{ "result", TABLE_LEFT, 1 },
		{ "result", TABLE_LEFT, 2 },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };

	for (size_t i = 0; i < MIN(d->sheets.len, (size_t)SHEETS_SHOWN); i++)
		add_sheet(&t, to, &d->sheets.at[i]);
	table_print_section(&t, "Sheets", d->sheets.len, "sheet", to);
}

static struct diff_pair program_cpu(const struct diff_program *p)
{
	return (struct diff_pair){ p->a->cpu_time_ns, p->b->cpu_time_ns };
}

static const char *program_name(const struct diff_program *p)
{
	return *p->a->name ? p->a->name : p->b->name;
}

static void add_program(struct table *t, const struct canvas *to, const struct diff_program *p)
{
	table_add(t, program_name(p), INK_PLAIN);
	table_add(t, format_count(p->a->processes).at, INK_PLAIN);
	table_add(t, format_count(p->b->processes).at,
	          p->a->processes == p->b->processes ? INK_PLAIN : INK_STRONG);
	add_figures(t, to, program_cpu(p), UNIT_NS);
}

static void put_programs(const struct diff *d, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "program", TABLE_LEFT, .min_width = 8 },
		{ "procs", TABLE_RIGHT },
		{ "procs", TABLE_RIGHT },
		{ "cpu", TABLE_RIGHT, 1 },
		{ "cpu", TABLE_RIGHT, 1 },
		{ "ratio", TABLE_RIGHT },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };

	for (size_t i = 0; i < MIN(d->programs.len, (size_t)PROGRAMS_SHOWN); i++)
		add_program(&t, to, &d->programs.at[i]);
	table_print_section(&t, "Programs", d->programs.len, "name", to);
}

void diff_view(const struct report *a, const struct report *b, struct canvas *to)
{
	cleanup(diff_done) struct diff d = { 0 };

	diff_match(a, b, &d);
	put_figures(a, b, to);
	put_sheets(&d, to);
	put_programs(&d, to);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void pair_json(struct json *j, const char *key, enum metric_unit unit, struct diff_pair pair)
{
	json_open_object(j, key);
	json_key(j, "a");
	figure_json(j, unit, pair.a);
	json_key(j, "b");
	figure_json(j, unit, pair.b);
	json_put_double(j, "ratio", diff_ratio(pair), 4);
	json_put_str(j, "ratio_is",
	             isfinite(diff_ratio(pair)) ? diff_bound_key(diff_bound(pair)) : NULL);
	json_open_array(j, "quality");
	json_str(j, quality_key(pair.a.quality));
	json_str(j, quality_key(pair.b.quality));
	json_end_array(j);
	json_end_object(j);
}

static void job_json(struct json *j, const char *key, const struct job *job)
{
	json_open_object(j, key);
	json_put_str(j, "job_id", job->id);
	json_put_str(j, "job_type", job->type);
	json_put_str(j, "outcome", job_outcome(job));
	json_put_str(j, "result", job_result(job).at);
	json_key(j, "started_at");
	metric_json(j, UNIT_NS, job->started_ns);
	json_end_object(j);
}

static const char *status_key(const struct sheet_record *s)
{
	return s->s.num ? job_status_name(s->s.status) : NULL;
}

static void sheet_json(struct json *j, const struct diff_sheet *s)
{
	json_begin_object(j);
	json_put_u64(j, "sheet_num", MAX(s->a->s.num, s->b->s.num));
	json_put_str(j, "status_a", status_key(s->a));
	json_put_str(j, "status_b", status_key(s->b));
	pair_json(j, "duration_seconds", UNIT_NS, diff_sheet_took(s));
	pair_json(j, "cpu_seconds", UNIT_NS, sheet_cpu(s));
	pair_json(j, "peak_rss_mb", UNIT_MIB, sheet_peak(s));
	json_end_object(j);
}

static void program_json(struct json *j, const struct diff_program *p)
{
	json_begin_object(j);
	json_put_str(j, "name", program_name(p));
	pair_json(j, "processes", UNIT_COUNT,
	          (struct diff_pair){ { p->a->processes, QUALITY_EXACT },
	                              { p->b->processes, QUALITY_EXACT } });
	pair_json(j, "cpu_seconds", UNIT_NS, program_cpu(p));
	json_end_object(j);
}

void diff_json(const struct report *a, const struct report *b, struct json *j)
{
	cleanup(diff_done) struct diff d = { 0 };

	diff_match(a, b, &d);
	json_begin_object(j);
	json_put_u64(j, "schema", RECORD_SCHEMA);
	job_json(j, "a", &a->job);
	job_json(j, "b", &b->job);
	json_open_object(j, "figures");
	pair_json(j, "duration_seconds", UNIT_NS, diff_took(a, b));
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		if (job_shows_figure(&a->job, (enum job_figure)i) ||
		    job_shows_figure(&b->job, (enum job_figure)i))
			pair_json(j, job_figures[i].key, job_figures[i].unit,
			          (struct diff_pair){ a->job.figures[i], b->job.figures[i] });
	json_end_object(j);
	json_open_array(j, "sheets");
	vec_each(&d.sheets, s)
		sheet_json(j, s);
	json_end_array(j);
	json_open_array(j, "programs");
	vec_each(&d.programs, p)
		program_json(j, p);
	json_end_array(j);
	json_end_object(j);
}
