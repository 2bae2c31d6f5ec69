/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "view/format.h"
#include "view/job_view.h"
#include "view/report_part.h"
#include "view/table.h"

#define SHEETS_SHOWN 40
#define PROGRAMS_SHOWN 8

static void add_count(struct table *t, uint64_t n)
{
	table_add(t, format_count(n).at, INK_PLAIN);
}

static void add_figure(struct table *t, const struct canvas *to, struct figure figure,
                       enum metric_unit unit)
{
	table_add_figure(t, figure_words(figure, unit, to->unicode).at, INK_PLAIN);
}

/* Looks alone can tell it. */
static void add_sampled_percent(struct table *t, double ratio)
{
	char text[sizeof(struct fmt) + 1];

	snprintf(text, sizeof text, "~%s", format_percent(ratio).at);
	table_add_figure(t, isfinite(ratio) ? text : NULL, INK_PLAIN);
}

static void add_span(struct table *t, uint64_t from_ns, uint64_t to_ns)
{
	table_add_figure(t, from_ns && to_ns > from_ns ? format_duration(to_ns - from_ns).at : NULL,
	                 INK_PLAIN);
}

static void put_rest(size_t rest, const char *what, struct canvas *to)
{
	if (rest)
		canvas_printf(to, INK_PLAIN, "  … and %s more %s%s\n", format_count(rest).at, what,
		              rest == 1 ? "" : "s");
}

/* The row of a sheet is that of its last attempt. */
static unsigned attempts(const struct report *r, uint32_t sheet)
{
	unsigned n = 1;

	vec_each(&r->marks, m)
		n += m->sheet == sheet && strcmp(m->name, "sheet.retried") == 0;
	return n;
}

static void add_sheet(struct table *t, const struct canvas *to, const struct sheet_record *s,
                      unsigned attempt)
{
	char name[SHEET_LABEL_MAX + 16], result[sizeof(struct words) + 24];

	snprintf(name, sizeof name, "%u %s", s->s.num, s->s.label);
	table_add(t, name, INK_PLAIN);
	add_span(t, s->s.started_ns, s->s.ended_ns);
	add_figure(t, to, s->cpu_time_ns, UNIT_NS);
	add_figure(t, to, s->peak_rss_bytes, UNIT_MIB);
	add_sampled_percent(t, s->max_cpu_ratio);
	add_count(t, s->processes);
	snprintf(result, sizeof result, "%s", sheet_result(&s->s).at);
	if (attempt > 1)
		snprintf(result, sizeof result, "%s, attempt %u", sheet_result(&s->s).at, attempt);
	table_add(t, result, job_ink(s->s.status));
}

void report_put_sheets(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "sheet", TABLE_LEFT, .min_width = 12 },
		{ "took", TABLE_RIGHT },
		{ "cpu", TABLE_RIGHT, 1 },
		{ "peak", TABLE_RIGHT, 2 },
		{ "max cpu", TABLE_RIGHT, 4 },
		{ "procs", TABLE_RIGHT, 3 },
		{ "result", TABLE_LEFT, .min_width = 9 },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	size_t shown = MIN(r->sheets.len, (size_t)SHEETS_SHOWN);

	if (!r->sheets.len)
		return;
	for (size_t i = 0; i < shown; i++)
		add_sheet(&t, to, &r->sheets.at[i], attempts(r, r->sheets.at[i].s.num));
	canvas_title(to, "Sheets");
	table_print(&t, to);
	put_rest(r->sheets.len - shown, "sheet", to);
	table_done(&t);
}

static int by_cost(const void *a, const void *b)
{
	const struct report_program *x = *(const struct report_program *const *)a,
				    *y = *(const struct report_program *const *)b;

	if (x->cpu_time_ns.value != y->cpu_time_ns.value)
		return x->cpu_time_ns.value < y->cpu_time_ns.value ? 1 : -1;
	if (x->processes != y->processes)
		return x->processes < y->processes ? 1 : -1;
	return (x > y) - (x < y);
}

static void add_program(struct table *t, const struct canvas *to, const struct report_program *p)
{
	table_add(t, p->name, INK_PLAIN);
	add_count(t, p->processes);
	add_figure(t, to, p->cpu_time_ns, UNIT_NS);
	add_figure(t, to, p->peak_rss_bytes, UNIT_MIB);
	table_add(t, format_count(p->failed).at, p->failed ? INK_WARN : INK_PLAIN);
	table_add(t, format_count(p->signalled).at, p->signalled ? INK_BAD : INK_PLAIN);
}

void report_put_programs(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "name", TABLE_LEFT, .min_width = 10 },
		{ "procs", TABLE_RIGHT },
		{ "cpu", TABLE_RIGHT },
		{ "largest", TABLE_RIGHT, 1 },
		{ "failed", TABLE_RIGHT, 2 },
		{ "signalled", TABLE_RIGHT, 3 },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	cleanup(freep) const struct report_program **sorted = NULL;
	size_t n = r->programs.len, shown = MIN(n, (size_t)PROGRAMS_SHOWN);

	if (n < 2) /* the totals tell it */
		return;
	sorted = xcalloc(n, sizeof *sorted);
	for (size_t i = 0; i < n; i++)
		sorted[i] = &r->programs.at[i];
	qsort(sorted, n, sizeof *sorted, by_cost);
	for (size_t i = 0; i < shown; i++)
		add_program(&t, to, sorted[i]);
	canvas_title(to, "Programs");
	table_print(&t, to);
	put_rest(n - shown, "name", to);
	table_done(&t);
}

static void add_process(struct table *t, const struct report *r, const struct canvas *to,
                        const struct report_process *p)
{
	struct words end = exit_words(p->p.has_exit_code, p->p.exit_code, p->p.signal,
	                              p->p.core_dumped);
	struct figure leaked = r->job.figures[JOB_FIGURE_LEAKED];
	bool is_alive = !p->p.ended_ns && r->job.status == JOB_RUNNING;
	bool is_left = !p->p.ended_ns && figure_is_known(leaked) && leaked.value;
	char pid[16];

	snprintf(pid, sizeof pid, "%d", p->p.id.pid);
	table_add(t, pid, INK_PLAIN);
	add_figure(t, to, p->p.cpu_time_ns, UNIT_NS);
	add_figure(t, to, p->p.peak_rss_bytes, UNIT_MIB);
	add_span(t, p->p.started_ns, p->p.ended_ns);
	table_add_figure(t,
	                 is_alive  ? "lives"
	                 : *end.at ? end.at
	                 : is_left ? "left behind"
	                           : NULL,
	                 p->p.signal      ? INK_BAD
	                 : p->p.exit_code ? INK_WARN
	                                  : INK_PLAIN);
	table_add(t, *p->command ? p->command : p->name, INK_PLAIN);
}

static void put_order(struct canvas *to)
{
	static const char whole[] = "by their share of the job's CPU time or peak memory, "
				    "whichever is larger",
			  brief[] = "by CPU or memory share";

	canvas_printf(to, INK_PLAIN, "  %s\n", to->width < sizeof whole + 2 ? brief : whole);
}

void report_put_costly(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "pid", TABLE_RIGHT },      { "cpu", TABLE_RIGHT },
		{ "peak", TABLE_RIGHT, 1 },  { "lived", TABLE_RIGHT, 3 },
		{ "ended", TABLE_RIGHT, 2 }, { "command", TABLE_LEFT, .min_width = 12 },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };

	if (r->processes < 2)
		return;
	for (size_t i = 0; i < r->n_costly; i++)
		add_process(&t, r, to, &r->costly[i]);
	canvas_title(to, "Most costly processes");
	put_order(to);
	table_print(&t, to);
	table_done(&t);
}
