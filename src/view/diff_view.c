/* SPDX-License-Identifier: MIT */
#include "view/diff_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/record_fields.h"
#include "base/clock.h"
#include "report/diff_change.h"
#include "view/canvas_page.h"
#include "view/diff_verdict.h"
#include "view/format.h"
#include "view/job_view.h"
#include "view/label_lines.h"
#include "view/table.h"

#define PROGRAMS_SHOWN 10
#define SHEETS_SHOWN 40
#define ALIKE 0.01  /* a smaller difference is noise */
#define LEAST 0.005 /* a smaller ratio is "<0.01×" */

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

/* "1.24×"; "same" within a percent. Bounds and samples are marked as such: "≥1.24×", "~same". Figures speak
 * for themselves where one is 0, and where a bound leaves everything open. */
static void add_ratio(struct table *t, const struct canvas *to, struct diff_pair pair,
                      enum metric_unit unit)
{
	enum diff_bound bound = diff_bound(pair);
	const char *sign = bound_sign(bound, to->unicode);
	double ratio = diff_ratio(pair);
	struct words text;

	if (diff_is_comparable(pair) && pair.a.value == pair.b.value)
		ratio = 1;
	if (!isfinite(ratio) || ratio == 0 || (ratio < LEAST && bound == DIFF_AT_LEAST)) {
		table_add_figure(t, NULL, INK_PLAIN);
		return;
	}
	if (fabs(ratio - 1) < ALIKE) {
		table_add(t, *sign ? "~same" : "same", INK_QUIET);
		return;
	}
	text = diff_ratio_words(ratio < LEAST ? "" : sign, ratio, to->unicode);
	table_add(t, text.at,
	          diff_change(pair, unit).direction == DIFF_TOO_SMALL ? INK_PLAIN : INK_STRONG);
}

static void add_figures(struct table *t, const struct canvas *to, struct diff_pair pair,
                        enum metric_unit unit)
{
	job_view_add_figure(t, pair.a, unit, to->unicode);
	job_view_add_figure(t, pair.b, unit, to->unicode);
	add_ratio(t, to, pair, unit);
}

static void add_pair(struct table *t, const struct canvas *to, const char *name,
                     struct diff_pair pair, enum metric_unit unit)
{
	if (!pair.a.value && !pair.b.value) /* or missing */
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

/* The limits of the jobs, which may be why they differ. */
static const struct {
	const char *key, *label;
	enum metric_unit unit;
	size_t at;
} allowances[] = {
	{ "allowed_memory_mb", "mem limit", UNIT_MIB, offsetof(struct job, allowed.memory_bytes) },
	{ "allowed_cores", "core limit", UNIT_MILLI, offsetof(struct job, allowed.milli_cores) },
	{ "allowed_seconds", "time limit", UNIT_NS, offsetof(struct job, allowed.time_ns) },
};

static struct figure allowed(const struct report *r, size_t i)
{
	uint64_t value = *(const uint64_t *)((const char *)&r->job + allowances[i].at);

	return (struct figure){ value, value ? QUALITY_EXACT : QUALITY_MISSING };
}

static void add_allowances(struct table *t, const struct canvas *to, const struct report *a,
                           const struct report *b)
{
	for (size_t i = 0; i < ARRAY_LEN(allowances); i++) {
		const struct diff_pair pair = { allowed(a, i), allowed(b, i) };

		if (pair.a.value != pair.b.value)
			add_pair(t, to, allowances[i].label, pair, allowances[i].unit);
	}
}

/* A page has room for heads that are complete, and calls the jobs A and B, in its charts, too. */
static const char *head(const struct canvas *to, const char *brief, const char *complete)
{
	return to->is_page ? complete : brief;
}

static void put_figures(const struct diff_input *in, struct canvas *to)
{
	const struct report *a = in->a, *b = in->b;
	char first[sizeof a->job.id + 4], second[sizeof b->job.id + 4];
	const struct table_column columns[] = {
		{ "", TABLE_LEFT, .min_width = 10 },
		{ head(to, a->job.id, first), TABLE_RIGHT, .min_width = 9 },
		{ head(to, b->job.id, second), TABLE_RIGHT, .min_width = 9 },
		{ head(to, "ratio", "B ÷ A"), TABLE_RIGHT },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };
	struct words result_a = job_view_result(&a->job), result_b = job_view_result(&b->job);

	snprintf(first, sizeof first, "A %s", a->job.id);
	snprintf(second, sizeof second, "B %s", b->job.id);
	if (strcmp(a->job.type, b->job.type) != 0)
		add_words(&t, "type", a->job.type, b->job.type, "");
	if (!in->runs)
		add_words(&t, "started", format_when(a->job.started_ns, a->now_ns).at,
		          format_when(b->job.started_ns, b->now_ns).at, ""); /* never compared */
	add_words(&t, "result", result_a.at, result_b.at, sameness(result_a.at, result_b.at));
	add_pair(&t, to, "took", diff_took(a, b), UNIT_NS);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		if (job_figures[i].label)
			add_pair(&t, to, job_figures[i].label,
			         (struct diff_pair){ a->job.figures[i], b->job.figures[i] },
			         job_figures[i].unit);
	if (!in->runs)
		add_allowances(&t, to, a, b);
	table_print(&t, to);
	table_done(&t);
}

static void add_result(struct table *t, const struct sheet_record *s)
{
	table_add(t, s->s.num ? job_view_sheet_result(&s->s).at : "-",
	          s->s.num ? job_view_ink(s->s.status) : INK_QUIET);
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
	add_ratio(t, to, sheet_cpu(s), UNIT_NS);
	add_ratio(t, to, sheet_peak(s), UNIT_MIB);
	add_result(t, s->a);
	add_result(t, s->b);
}

static void put_sheets(const struct diff *d, struct canvas *to)
{
	const struct table_column columns[] = {
		{ "sheet", TABLE_LEFT, .min_width = 8 },
		{ head(to, "took", "took A"), TABLE_RIGHT },
		{ head(to, "took", "took B"), TABLE_RIGHT },
		{ head(to, "ratio", "B ÷ A"), TABLE_RIGHT },
		{ head(to, "cpu", "cpu B ÷ A"), TABLE_RIGHT, 3 },
		{ head(to, "peak", "peak B ÷ A"), TABLE_RIGHT, 4 },
		{ head(to, "result", "result A"), TABLE_LEFT, 1 },
		{ head(to, "result", "result B"), TABLE_LEFT, 2 },
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

/* As many processes in both, and no CPU time to speak of: nothing to compare. */
static bool has_information(const struct diff_program *p)
{
	return p->a->processes != p->b->processes || p->a->cpu_time_ns.value >= NS_PER_MS ||
	       p->b->cpu_time_ns.value >= NS_PER_MS;
}

static void put_programs(const struct diff *d, struct canvas *to)
{
	const struct table_column columns[] = {
		{ "program", TABLE_LEFT, .min_width = 8 },
		{ head(to, "procs", "procs A"), TABLE_RIGHT },
		{ head(to, "procs", "procs B"), TABLE_RIGHT },
		{ head(to, "cpu", "cpu A"), TABLE_RIGHT, 1 },
		{ head(to, "cpu", "cpu B"), TABLE_RIGHT, 1 },
		{ head(to, "ratio", "cpu B ÷ A"), TABLE_RIGHT },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	size_t n = 0;

	for (size_t i = 0; i < d->programs.len; i++) {
		if (!has_information(&d->programs.at[i]))
			continue;
		if (n++ < PROGRAMS_SHOWN)
			add_program(&t, to, &d->programs.at[i]);
	}
	table_print_section(&t, "Programs", n, "name", to);
}

static void put_line(struct canvas *to, const char *text, enum ink ink)
{
	static const struct table_column columns[] = { { NULL, TABLE_LEFT, .min_width = 20,
		                                         .wraps = true } };
	struct table t = { .columns = columns, .n_columns = 1 };

	table_add(&t, text, ink);
	table_print(&t, to);
	table_done(&t);
}

static void put_verdict(const struct diff_input *in, const struct diff *d, struct canvas *to)
{
	cleanup(buf_done) struct buf text = { 0 };

	diff_verdict(in->a, in->b, d, to->unicode, &text);
	put_line(to, text.at, INK_STRONG);
	buf_reset(&text);
	if (in->runs) {
		buf_printf(&text, "compared with the median of %zu successful run%s of %s",
		           in->runs, in->runs == 1 ? "" : "s", in->b->job.type);
		if (in->runs < in->wanted)
			buf_puts(&text, "; there are no more");
		put_line(to, text.at, INK_QUIET);
	}
	canvas_newline(to);
}

void diff_view(const struct diff_input *in, struct canvas *to)
{
	cleanup(diff_done) struct diff d = { 0 };

	diff_match(in->a, in->b, &d);
	put_verdict(in, &d, to);
	put_figures(in, to);
	put_sheets(&d, to);
	put_programs(&d, to);
}

void diff_markdown(const struct diff_input *in, struct buf *to)
{
	struct label_lines title = { 0 };
	struct canvas_page page = { .out = to };
	struct canvas *canvas = CANVAS_PAGE(canvas_markdown, &page);
	char names[2 * JOB_ID_MAX + 16];

	snprintf(names, sizeof names, "A %s → B %s", in->a->job.id, in->b->job.id);
	label_lines_begin_head(&title, names, "");
	label_lines_print(&title, canvas);
	label_lines_done(&title);
	diff_view(in, canvas);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void pair_json(struct json *j, const char *key, enum metric_unit unit, struct diff_pair pair)
{
	json_open_object(j, key);
	json_key(j, "a");
	field_figure_json(j, unit, pair.a);
	json_key(j, "b");
	field_figure_json(j, unit, pair.b);
	json_put_double(j, "ratio", diff_ratio(pair), 4);
	json_put_str(j, "ratio_is",
	             isfinite(diff_ratio(pair)) ? diff_bound_key(diff_bound(pair)) : NULL);
	json_open_array(j, "quality");
	json_str(j, quality_key(pair.a.quality));
	json_str(j, quality_key(pair.b.quality));
	json_end_array(j);
	json_end_object(j);
}

static void job_json(struct json *j, const char *key, const struct job *job, bool is_median)
{
	json_open_object(j, key);
	json_put_str(j, "job_id", is_median ? NULL : job->id);
	json_put_str(j, "job_type", job->type);
	json_put_str(j, "outcome", job_outcome(job));
	json_put_str(j, "result", job_view_result(job).at);
	json_key(j, "started_at");
	field_figure_json(
		j, UNIT_NS,
		(struct figure){ job->started_ns, is_median ? QUALITY_MISSING : QUALITY_EXACT });
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

static void condition_json(struct json *j, const struct diff_input *in,
                           const struct diff_condition *c)
{
	enum diff_answer answer = diff_condition_check(c, diff_condition_pair(c, in->a, in->b));
	cleanup(buf_done) struct buf text = { 0 };

	diff_verdict_condition_words(c, in->a, in->b, true, &text);
	json_begin_object(j);
	json_key(j, "condition");
	json_strn(j, c->text.p, scan_left(&c->text));
	json_key(j, "met");
	if (answer == DIFF_UNDECIDED)
		json_nil(j);
	else
		json_bool(j, answer == DIFF_YES);
	json_put_str(j, "reason", text.at);
	json_end_object(j);
}

static void head_json(struct json *j, const struct diff_input *in, const struct diff *d)
{
	cleanup(buf_done) struct buf text = { 0 };

	diff_verdict(in->a, in->b, d, true, &text);
	json_put_str(j, "verdict", text.at);
	json_open_array(j, "conditions");
	for (size_t i = 0; i < in->n_conditions; i++)
		condition_json(j, in, &in->conditions[i]);
	json_end_array(j);
	json_key(j, "median_of");
	if (in->runs)
		json_u64(j, in->runs);
	else
		json_nil(j);
	job_json(j, "a", &in->a->job, in->runs);
	job_json(j, "b", &in->b->job, false);
}

void diff_view_json(const struct diff_input *in, struct json *j)
{
	const struct report *a = in->a, *b = in->b;
	cleanup(diff_done) struct diff d = { 0 };

	diff_match(a, b, &d);
	json_begin_object(j);
	json_put_u64(j, "schema", RECORD_SCHEMA);
	head_json(j, in, &d);
	json_open_object(j, "figures");
	pair_json(j, "duration_seconds", UNIT_NS, diff_took(a, b));
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		if (job_shows_figure(&a->job, (enum job_figure)i) ||
		    job_shows_figure(&b->job, (enum job_figure)i))
			pair_json(j, job_figures[i].key, job_figures[i].unit,
			          (struct diff_pair){ a->job.figures[i], b->job.figures[i] });
	for (size_t i = 0; i < ARRAY_LEN(allowances); i++)
		pair_json(j, allowances[i].key, allowances[i].unit,
		          (struct diff_pair){ allowed(a, i), allowed(b, i) });
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
