/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "view/format.h"
#include "view/report_part.h"
#include "view/table.h"

#define MARKS_SHOWN 20
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

/* A phase is told when it ends; it stands where it began. */
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

void report_put_marks(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ NULL, TABLE_RIGHT },
		{ NULL, TABLE_LEFT, .min_width = 10 },
		{ NULL, TABLE_RIGHT },
		{ NULL, TABLE_LEFT, .min_width = 8 },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	cleanup(freep) const struct report_mark **sorted = NULL;
	size_t shown = MIN(r->marks.len, (size_t)MARKS_SHOWN);
	uint64_t rest = r->marks.len - shown + r->marks_dropped;

	if (!r->marks.len)
		return;
	sorted = xcalloc(r->marks.len, sizeof *sorted);
	for (size_t i = 0; i < r->marks.len; i++)
		sorted[i] = &r->marks.at[i];
	qsort(sorted, r->marks.len, sizeof *sorted, by_begin);
	for (size_t i = 0; i < shown; i++) {
		const struct report_mark *m = sorted[i];

		add_offset(&t, r, begin_of(m));
		table_add(&t, m->name, INK_PLAIN);
		table_add(&t, m->took_ns ? format_duration(m->took_ns).at : "mark",
		          m->took_ns ? INK_PLAIN : INK_QUIET);
		table_add(&t, strcmp(m->data, "{}") == 0 ? "" : m->data, INK_PLAIN);
	}
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
	char text[REPORT_TEXT_MAX + 48];

	if (note->count > 1)
		snprintf(text, sizeof text, "%s (%s times)", note->text,
		         format_count(note->count).at);
	else
		snprintf(text, sizeof text, "%s", note->text);
	add_offset(t, r, note->first_ns);
	table_add(t, note->what, note->ink);
	table_add(t, text, INK_PLAIN);
}

void report_put_notes(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ NULL, TABLE_RIGHT },
		{ NULL, TABLE_LEFT, .min_width = 9 },
		{ NULL, TABLE_LEFT, .min_width = 18, .wraps = true },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	cleanup(freep) const struct report_note **sorted = NULL;
	size_t n = r->notes.len, shown = MIN(n, (size_t)NOTES_SHOWN);

	if (!n)
		return;
	sorted = xcalloc(n, sizeof *sorted);
	for (size_t i = 0; i < n; i++)
		sorted[i] = &r->notes.at[i];
	qsort(sorted, n, sizeof *sorted, by_rank);
	qsort(sorted, shown, sizeof *sorted, by_time);
	for (size_t i = 0; i < shown; i++)
		add_note(&t, r, sorted[i]);
	canvas_title(to, "Events worth knowing");
	table_print(&t, to);
	put_rest(r, n - shown + r->notes_dropped, "", to);
	table_done(&t);
}
