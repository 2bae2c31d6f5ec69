/* SPDX-License-Identifier: MIT */
#include "view/report_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "view/format.h"
#include "view/job_view.h"
#include "view/note_view.h"
#include "view/syscall_view.h"
#include "view/table.h"

#define SHEETS_SHOWN 40
#define PROGRAMS_SHOWN 8
#define PAGE_ROWS 1000 /* pages have room, and can be searched */

static size_t rows_shown(const struct canvas *to, size_t n, size_t usual)
{
	return MIN(n, to->is_page ? PAGE_ROWS : usual);
}

static void add_count(struct table *t, uint64_t n)
{
	table_add(t, format_count(n).at, INK_PLAIN);
}

/* Known from samples only; none found it busy if they have 0 and CPU time was used. */
static void add_sampled_percent(struct table *t, double ratio, bool is_used)
{
	char text[sizeof(struct fmt) + 1];

	snprintf(text, sizeof text, "~%s", format_percent(ratio).at);
	table_add_figure(t, isfinite(ratio) && (ratio > 0 || !is_used) ? text : NULL, INK_PLAIN);
}

static void add_span(struct table *t, uint64_t from_ns, uint64_t to_ns)
{
	table_add_figure(t, from_ns && to_ns > from_ns ? format_duration(to_ns - from_ns).at : NULL,
	                 INK_PLAIN);
}

/* The row of a sheet is that of its last attempt. */
static unsigned attempts(const struct report *r, uint32_t sheet)
{
	unsigned n = 1;

	vec_each(&r->marks, m)
		n += m->sheet == sheet && strcmp(m->name, "sheet.retried") == 0;
	return n;
}

/* Where the processes of the job were counted by sampling, those of its sheets were, too. */
static struct figure sheet_processes(const struct job *job, const struct sheet_record *s)
{
	bool is_bound = job->figures[JOB_FIGURE_PROCESSES].quality == QUALITY_AT_LEAST;

	return (struct figure){ s->use.processes, is_bound ? QUALITY_AT_LEAST : QUALITY_EXACT };
}

static void add_sheet(struct table *t, const struct canvas *to, const struct job *job,
                      const struct sheet_record *s, unsigned attempt)
{
	char name[SHEET_LABEL_MAX + 16], result[sizeof(struct words) + 24];

	snprintf(name, sizeof name, "%u %s", s->s.num, s->s.label);
	table_add(t, name, INK_PLAIN);
	add_span(t, s->s.started_ns, s->s.ended_ns);
	job_view_add_figure(t, s->use.figures[SHEET_FIGURE_CPU], UNIT_NS, to->unicode);
	job_view_add_figure(t, s->use.figures[SHEET_FIGURE_PEAK_RSS], UNIT_MIB, to->unicode);
	add_sampled_percent(t, s->use.max_cpu_ratio, s->use.figures[SHEET_FIGURE_CPU].value > 0);
	job_view_add_figure(t, sheet_processes(job, s), UNIT_COUNT, to->unicode);
	snprintf(result, sizeof result, "%s", job_view_sheet_result(&s->s).at);
	if (attempt > 1)
		snprintf(result, sizeof result, "%s, attempt %u", job_view_sheet_result(&s->s).at,
		         attempt);
	table_add(t, result, job_view_ink(s->s.status));
}

static void put_missing_reasons(const struct report *r, struct canvas *to)
{
	for (size_t i = 0; i < MIN(r->sheets.len, (size_t)SHEETS_SHOWN); i++) {
		const struct sheet_record *s = &r->sheets.at[i];
		const char *reason = sheet_lack_reason(s->use.lack);

		if (reason)
			canvas_printf(to, INK_PLAIN, "  sheet %u has no figures: %s\n", s->s.num,
			              reason);
	}
}

static const struct table_column sheet_columns[] = {
	{ "sheet", TABLE_LEFT, .min_width = 12, .key = "sheet_num", .help = "its number and label" },
	{ "took", TABLE_RIGHT, .key = "ended_at", .help = "from its start to its end" },
	{ "cpu", TABLE_RIGHT, 1, .key = "cpu_seconds" },
	{ "peak", TABLE_RIGHT, 2, .key = "peak_rss_mb" },
	{ "max cpu", TABLE_RIGHT, 4, .key = "max_cpu_pct" },
	{ "procs", TABLE_RIGHT, 3, .key = "processes" },
	{ "result", TABLE_LEFT, .min_width = 9, .key = "status", .help = "ok, or how it ended" },
};
const struct table_columns report_sheet_columns = TABLE_COLUMNS(sheet_columns);

static void put_sheets(const struct report *r, struct canvas *to)
{
	struct table t = { .columns = sheet_columns,
		           .n_columns = ARRAY_LEN(sheet_columns),
		           .indent = 2 };

	for (size_t i = 0; i < rows_shown(to, r->sheets.len, SHEETS_SHOWN); i++)
		add_sheet(&t, to, &r->job, &r->sheets.at[i], attempts(r, r->sheets.at[i].s.num));
	table_print_section(&t, "Sheets", r->sheets.len, "sheet", to);
	put_missing_reasons(r, to);
}

/* Pointers to the elements of an array, in another order. */
static const void **sorted(const void *array, size_t n, size_t size,
                           int (*compare)(const void *a, const void *b))
{
	const void **list = xcalloc(MAX(n, (size_t)1), sizeof *list);

	for (size_t i = 0; i < n; i++)
		list[i] = (const char *)array + i * size;
	qsort(list, n, sizeof *list, compare);
	return list;
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
	job_view_add_figure(t, p->cpu_time_ns, UNIT_NS, to->unicode);
	job_view_add_figure(t, p->peak_rss_bytes, UNIT_MIB, to->unicode);
	table_add(t, format_count(p->failed).at, p->failed ? INK_WARN : INK_PLAIN);
	table_add(t, format_count(p->signalled).at, p->signalled ? INK_BAD : INK_PLAIN);
}

static void put_programs(const struct report *r, struct canvas *to)
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
	cleanup(freep) const void **list = sorted(r->programs.at, r->programs.len,
	                                          sizeof *r->programs.at, by_cost);

	if (r->programs.len < 2) /* the totals show the same */
		return;
	for (size_t i = 0; i < rows_shown(to, r->programs.len, PROGRAMS_SHOWN); i++)
		add_program(&t, to, list[i]);
	table_print_section(&t, "Programs", r->programs.len, "name", to);
}

static void add_process(struct table *t, const struct report *r, const struct canvas *to,
                        const struct report_process *p)
{
	struct words end = job_view_exit_words(p->p.has_exit_code, p->p.exit_code, p->p.signal,
	                                       p->p.core_dumped);
	bool is_alive = !p->p.ended_ns && r->job.status == JOB_RUNNING;
	bool is_left = !p->p.ended_ns && job_view_count(&r->job, JOB_FIGURE_LEAKED);
	char pid[16];

	snprintf(pid, sizeof pid, "%d", p->p.id.pid);
	table_add(t, pid, INK_PLAIN);
	job_view_add_figure(t, p->p.cpu_time_ns, UNIT_NS, to->unicode);
	job_view_add_figure(t, p->p.peak_rss_bytes, UNIT_MIB, to->unicode);
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
	canvas_put(to, INK_PLAIN, "  by CPU time, then peak memory\n");
}

static const struct table_column process_columns[] = {
	{ "pid", TABLE_RIGHT, .key = "pid" },
	{ "cpu", TABLE_RIGHT, .key = "cpu_seconds" },
	{ "peak", TABLE_RIGHT, 1, .key = "peak_rss_mb" },
	{ "lived", TABLE_RIGHT, 3, .key = "ended_at", .help = "from its start to its end" },
	{ "ended", TABLE_RIGHT, 2, .key = "exit_code",
	  .help = "its exit status, or the signal it died of" },
	{ "command", TABLE_LEFT, .min_width = 12, .key = "command" },
};
const struct table_columns report_process_columns = TABLE_COLUMNS(process_columns);

static void put_costly(const struct report *r, struct canvas *to)
{
	struct table t = { .columns = process_columns,
		           .n_columns = ARRAY_LEN(process_columns),
		           .indent = 2 };

	if (r->processes < 2 || !r->n_costly)
		return;
	for (size_t i = 0; i < r->n_costly; i++)
		add_process(&t, r, to, &r->costly[i]);
	canvas_title(to, "Most costly processes");
	put_order(to);
	table_print(&t, to);
	table_done(&t);
}

/* ---- marks and notes ----------------------------------------------------------------------------- */

#define MARKS_FIRST 3
#define MARKS_LAST 10
#define NOTES_SHOWN 15

static void add_offset(struct table *t, const struct report *r, uint64_t wall_ns)
{
	uint64_t after = wall_ns > r->job.started_ns ? wall_ns - r->job.started_ns : 0;

	table_add(t, format_offset(after).at, INK_QUIET);
}

static void put_rest(const struct report *r, uint64_t rest, const char *options, struct canvas *to)
{
	if (!rest)
		return;
	canvas_printf(to, INK_PLAIN, "  … and %s more; see: proctor events ",
	              format_count(rest).at);
	canvas_text(to, INK_PLAIN, r->job.id, strlen(r->job.id), SIZE_MAX);
	canvas_printf(to, INK_PLAIN, "%s\n", options);
}

/* A phase is recorded when it ends; it is listed where it began. */
static uint64_t begin_of(const struct report_mark *m)
{
	return m->wall_ns - MIN(m->took_ns, m->wall_ns);
}

static int by_begin(const void *a, const void *b)
{
	const struct report_mark *x = *(const struct report_mark *const *)a,
				 *y = *(const struct report_mark *const *)b;

	if (begin_of(x) != begin_of(y))
		return begin_of(x) < begin_of(y) ? -1 : 1;
	return (x > y) - (x < y);
}

static void add_mark(struct table *t, const struct report *r, const struct report_mark *m)
{
	add_offset(t, r, begin_of(m));
	table_add(t, m->name, INK_PLAIN);
	table_add(t, m->took_ns ? format_duration(m->took_ns).at : "mark",
	          m->took_ns ? INK_PLAIN : INK_QUIET);
	table_add(t, strcmp(m->data, "{}") == 0 ? "" : m->data, INK_PLAIN);
}

static void add_gap(struct table *t)
{
	table_add(t, "", INK_QUIET);
	table_add(t, "…", INK_QUIET);
	table_add(t, "", INK_QUIET);
	table_add(t, "", INK_QUIET);
}

static void put_marks(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ NULL, TABLE_RIGHT },
		{ NULL, TABLE_LEFT, .min_width = 10 },
		{ NULL, TABLE_RIGHT },
		{ NULL, TABLE_LEFT, .min_width = 8 },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	cleanup(freep) const void **list = sorted(r->marks.at, r->marks.len, sizeof *r->marks.at,
	                                          by_begin);
	size_t n = r->marks.len, first = n > MARKS_FIRST + MARKS_LAST ? MARKS_FIRST : n;
	uint64_t rest = first < n ? n - MARKS_FIRST - MARKS_LAST + r->marks_dropped : 0;

	if (!n)
		return;
	for (size_t i = 0; i < first; i++)
		add_mark(&t, r, list[i]);
	if (rest)
		add_gap(&t);
	for (size_t i = first < n ? n - MARKS_LAST : n; i < n; i++)
		add_mark(&t, r, list[i]);
	canvas_title(to, "Marks and phases");
	table_print(&t, to);
	put_rest(r, rest, " --kind mark,phase", to);
	table_done(&t);
}

static int by_rank(const void *a, const void *b)
{
	const struct report_note *x = *(const struct report_note *const *)a,
				 *y = *(const struct report_note *const *)b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x > y) - (x < y); /* then in the order of time */
}

static int by_time(const void *a, const void *b)
{
	const struct report_note *x = *(const struct report_note *const *)a,
				 *y = *(const struct report_note *const *)b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x > y) - (x < y);
}

static void add_note(struct table *t, const struct report *r, const struct report_note *note)
{
	struct note_words words = note_view(r, note);
	char text[REPORT_TEXT_MAX + 48];

	if (note->count > 1)
		snprintf(text, sizeof text, "%s (%s times)", words.text,
		         format_count(note->count).at);
	else
		snprintf(text, sizeof text, "%s", words.text);
	add_offset(t, r, note->first_ns);
	table_add(t, words.what, words.ink);
	table_add(t, text, INK_PLAIN);
}

static void put_notes(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ NULL, TABLE_RIGHT },
		{ NULL, TABLE_LEFT, .min_width = 9 },
		{ NULL, TABLE_LEFT, .min_width = 18, .wraps = true },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	cleanup(freep)
		const void **list = sorted(r->notes.at, r->notes.len, sizeof *r->notes.at, by_rank);
	size_t n = r->notes.len, shown = MIN(n, (size_t)NOTES_SHOWN);

	if (!n)
		return;
	qsort(list, shown, sizeof *list, by_time);
	for (size_t i = 0; i < shown; i++)
		add_note(&t, r, list[i]);
	canvas_title(to, "Events worth knowing");
	table_print(&t, to);
	put_rest(r, n - shown + r->notes_dropped, "", to);
	table_done(&t);
}

void report_tables(const struct report *r, struct canvas *to)
{
	put_sheets(r, to);
	put_programs(r, to);
	put_costly(r, to);
	syscall_view_report(r, to);
	put_marks(r, to);
	put_notes(r, to);
}
