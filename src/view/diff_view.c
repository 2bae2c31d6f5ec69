/* SPDX-License-Identifier: MIT */
#include "view/diff_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

	if (diff_can_tell(pair) && pair.a.value == pair.b.value)
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

static void add_pair(struct table *t, const struct canvas *to, const char *name,
                     struct diff_pair pair, enum metric_unit unit)
{
	if (!figure_is_known(pair.a) && !figure_is_known(pair.b))
		return;
	table_add(t, name, INK_PLAIN);
	table_add_figure(t, figure_words(pair.a, unit, to->unicode).at, INK_PLAIN);
	table_add_figure(t, figure_words(pair.b, unit, to->unicode).at, INK_PLAIN);
	add_ratio(t, to, pair);
}

static void add_words(struct table *t, const char *name, const char *a, const char *b)
{
	table_add(t, name, INK_PLAIN);
	table_add(t, a, INK_PLAIN);
	table_add(t, b, INK_PLAIN);
	table_add(t, strcmp(a, b) == 0 ? "same" : "", INK_QUIET);
}

/* Nobody compares them. */
static void add_times(struct table *t, const char *name, const struct report *a,
                      const struct report *b)
{
	table_add(t, name, INK_PLAIN);
	table_add(t, format_when(a->job.started_ns, a->now_ns).at, INK_PLAIN);
	table_add(t, format_when(b->job.started_ns, b->now_ns).at, INK_PLAIN);
	table_add(t, "", INK_QUIET);
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

	add_words(&t, "type", a->job.type, b->job.type);
	add_times(&t, "started", a, b);
	add_words(&t, "result", job_result(&a->job).at, job_result(&b->job).at);
	add_pair(&t, to, "took", (struct diff_pair){ diff_took(a), diff_took(b) }, UNIT_NS);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		if (job_figures[i].label)
			add_pair(&t, to, job_figures[i].label,
			         (struct diff_pair){ a->job.figures[i], b->job.figures[i] },
			         job_figures[i].unit);
	table_print(&t, to);
	table_done(&t);
}

static const struct sheet_record *const no_sheet = &(const struct sheet_record){
	.max_cpu_ratio = NAN,
};

static void add_sheet(struct table *t, const struct canvas *to, const struct sheet_record *x,
                      const struct sheet_record *y)
{
	const struct sheet_record *any = x ? x : y;
	struct diff_pair took = { diff_sheet_took(x), diff_sheet_took(y) };
	struct diff_pair cpu = { (x ? x : no_sheet)->cpu_time_ns, (y ? y : no_sheet)->cpu_time_ns };
	struct diff_pair peak = { (x ? x : no_sheet)->peak_rss_bytes,
		                  (y ? y : no_sheet)->peak_rss_bytes };
	char text[SHEET_LABEL_MAX + 16];

	snprintf(text, sizeof text, "%u %s", any->s.num, any->s.label);
	table_add(t, text, INK_PLAIN);
	table_add_figure(t, figure_words(took.a, UNIT_NS, to->unicode).at, INK_PLAIN);
	table_add_figure(t, figure_words(took.b, UNIT_NS, to->unicode).at, INK_PLAIN);
	add_ratio(t, to, took);
	add_ratio(t, to, cpu);
	add_ratio(t, to, peak);
	table_add(t, x ? sheet_result(&x->s).at : "-", x ? job_ink(x->s.status) : INK_QUIET);
	table_add(t, y ? sheet_result(&y->s).at : "-", y ? job_ink(y->s.status) : INK_QUIET);
}

static void put_sheets(const struct report *a, const struct report *b, struct canvas *to)
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
	size_t shown = 0;

	vec_each(&a->sheets, s)
		if (shown++ < SHEETS_SHOWN)
			add_sheet(&t, to, s, diff_find_sheet(b, s->s.num));
	vec_each(&b->sheets, s)
		if (!diff_find_sheet(a, s->s.num) && shown++ < SHEETS_SHOWN)
			add_sheet(&t, to, NULL, s);
	if (shown) {
		canvas_title(to, "Sheets");
		table_print(&t, to);
	}
	if (shown > SHEETS_SHOWN)
		canvas_printf(to, INK_PLAIN, "  … and %s more sheet%s\n",
		              format_count(shown - SHEETS_SHOWN).at,
		              shown - SHEETS_SHOWN == 1 ? "" : "s");
	table_done(&t);
}

static void add_program(struct table *t, const struct canvas *to, const struct diff_program *p)
{
	static const struct report_program none = { 0 };
	const struct report_program *a = p->a ? p->a : &none, *b = p->b ? p->b : &none;
	struct diff_pair cpu = { a->cpu_time_ns, b->cpu_time_ns };

	table_add(t, p->a ? a->name : b->name, INK_PLAIN);
	table_add(t, format_count(a->processes).at, INK_PLAIN);
	table_add(t, format_count(b->processes).at,
	          a->processes == b->processes ? INK_PLAIN : INK_STRONG);
	table_add_figure(t, figure_words(cpu.a, UNIT_NS, to->unicode).at, INK_PLAIN);
	table_add_figure(t, figure_words(cpu.b, UNIT_NS, to->unicode).at, INK_PLAIN);
	add_ratio(t, to, cpu);
}

static void put_programs(const struct report *a, const struct report *b, struct canvas *to)
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
	struct diff_programs programs = { 0 };
	size_t shown;

	diff_match_programs(a, b, &programs);
	shown = MIN(programs.list.len, (size_t)PROGRAMS_SHOWN);
	for (size_t i = 0; i < shown; i++)
		add_program(&t, to, &programs.list.at[i]);
	if (shown) {
		canvas_title(to, "Programs");
		table_print(&t, to);
	}
	if (programs.list.len > shown)
		canvas_printf(to, INK_PLAIN, "  … and %s more name%s\n",
		              format_count(programs.list.len - shown).at,
		              programs.list.len - shown == 1 ? "" : "s");
	table_done(&t);
	vec_done(&programs.list);
}

void diff_view(const struct report *a, const struct report *b, struct canvas *to)
{
	put_figures(a, b, to);
	put_sheets(a, b, to);
	put_programs(a, b, to);
}
