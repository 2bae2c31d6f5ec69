/* SPDX-License-Identifier: MIT */
#include "view/events_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scan.h"
#include "base/signal_name.h"
#include "model/record_fields.h"
#include "view/format.h"
#include "view/job_view.h"

#define TIME_COLUMNS 10
#define KIND_COLUMNS 10
#define PID_COLUMNS 7
#define NAME_COLUMNS 15
#define FRONT_COLUMNS (TIME_COLUMNS + KIND_COLUMNS + PID_COLUMNS + NAME_COLUMNS + 8)
#define NARROW 60 /* below it the pid and the name are part of the details */

bool events_parse_kinds(const char *text, uint64_t *ret, char *ret_bad, size_t cap)
{
	struct scan rest = scan_str(text), word;
	uint64_t kinds = 0;

	do {
		enum event_kind kind = 0;

		if (!scan_until(&rest, ',', &word)) {
			word = rest;
			rest.p = rest.end;
		}
		while (kind < EVENT_KIND_COUNT && !scan_eq(&word, event_name(kind)))
			kind++;
		if (kind == EVENT_KIND_COUNT) {
			snprintf(ret_bad, cap, "%.*s", (int)MIN(scan_left(&word), (size_t)64),
			         word.p);
			return false;
		}
		kinds |= UINT64_C(1) << kind;
	} while (!scan_at_end(&rest));
	*ret = kinds;
	return true;
}

void events_put_kinds(struct buf *to)
{
	for (enum event_kind kind = 0; kind < EVENT_KIND_COUNT; kind++)
		buf_printf(to, "%s%s", kind ? ", " : "", event_name(kind));
}

static struct fmt time_of(const struct events_view *view, uint64_t wall_ns)
{
	if (!view->started_ns)
		return format_clock(wall_ns);
	return format_offset(wall_ns > view->started_ns ? wall_ns - view->started_ns : 0);
}

/* How each kind is shown: its ink, and the words before a count that is a time. */
static const struct {
	enum ink ink;
	const char *span;
} kinds[EVENT_KIND_COUNT] = {
	[EVENT_OOM] = { INK_BAD },
	[EVENT_KILL] = { INK_BAD },
	[EVENT_LOSS] = { INK_WARN },
	[EVENT_LIMIT] = { INK_WARN },
	[EVENT_DISK] = { INK_WARN },
	[EVENT_ANOMALY] = { INK_WARN },
	[EVENT_PROBE] = { INK_WARN },
	[EVENT_GPU] = { INK_WARN },
	[EVENT_GAP] = { INK_WARN, "nothing stored for " },
	[EVENT_CLOCK_STEP] = { INK_PLAIN, "set forward by " },
	[EVENT_SUSPEND] = { INK_PLAIN, "the machine slept for " },
	[EVENT_PHASE] = { INK_PLAIN, "took " },
};

/* Details that the columns do not show. */
static void put_figures(struct buf *to, const struct event_record *e)
{
	const char *before = e->kind == EVENT_CLOCK_STEP && e->count < 0 ? "set back by "
	                                                                 : kinds[e->kind].span;

	if (e->kind == EVENT_EXIT)
		buf_puts(to,
		         job_view_exit_words(e->has_exit_code, e->exit_code, e->signal, false).at);
	else if (e->kind == EVENT_SIGNAL || e->kind == EVENT_KILL)
		buf_puts(to, signal_name(e->signal).at);
	else if (e->kind == EVENT_LOSS && e->count > 0)
		buf_printf(to, "%s events", format_count((uint64_t)e->count).at);
	else if (before)
		buf_printf(to, "%s%s", before, format_duration((uint64_t)llabs(e->count)).at);
}

static void put_details(struct buf *to, const struct event_record *e)
{
	size_t start;

	if (e->name && *e->name && e->kind != EVENT_ANOMALY) /* its details name the kind */
		buf_printf(to, "%s  ", e->name);
	start = to->len;
	put_figures(to, e);
	if (e->details && *e->details && strcmp(e->details, "{}") != 0)
		buf_printf(to, "%s%s", to->len > start ? ", " : "", e->details);
}

static enum ink ink_of(const struct event_record *e)
{
	if (e->kind == EVENT_EXIT)
		return e->signal ? INK_BAD : e->exit_code ? INK_WARN : INK_PLAIN;
	return kinds[e->kind].ink;
}

/* Text in so many columns. */
static void put_cell(struct canvas *to, enum ink ink, const char *text, size_t columns)
{
	size_t used = canvas_text(to, ink, text, strlen(text), columns);

	canvas_pad(to, columns - MIN(used, columns));
}

struct line {
	const char *time, *kind, *pid, *name, *details;
};

static void put_line(const struct line *line, enum ink kind_ink, enum ink ink, struct canvas *to)
{
	bool narrow = to->width < NARROW;
	size_t front = narrow ? TIME_COLUMNS + KIND_COLUMNS + 4 : FRONT_COLUMNS;
	struct buf rest = { 0 };

	canvas_printf(to, ink, "%*s  ", TIME_COLUMNS, line->time);
	put_cell(to, kind_ink, line->kind, KIND_COLUMNS);
	canvas_pad(to, 2);
	if (narrow) {
		buf_printf(&rest, "%s%s%s%s", line->pid, *line->pid ? " " : "", line->name,
		           *line->name ? "  " : "");
	} else {
		canvas_pad(to, PID_COLUMNS - MIN(strlen(line->pid), (size_t)PID_COLUMNS));
		canvas_put(to, ink, line->pid);
		canvas_pad(to, 2);
		put_cell(to, ink, line->name, NAME_COLUMNS);
		canvas_pad(to, 2);
	}
	buf_puts(&rest, line->details);
	while (rest.len && rest.at[rest.len - 1] == ' ')
		rest.len--;
	canvas_text(to, ink, rest.at ? rest.at : "", rest.len,
	            to->width == SIZE_MAX ? SIZE_MAX : to->width - MIN(front, to->width));
	canvas_newline(to);
	buf_done(&rest);
}

void events_view_head(const struct events_view *view, struct canvas *to)
{
	const struct line head = { view->started_ns ? "AFTER" : "TIME", "EVENT", "PID", "NAME",
		                   "DETAILS" };

	put_line(&head, INK_TITLE, INK_TITLE, to);
}

void events_view_put(const struct events_view *view, const struct event_record *e, const char *name,
                     struct canvas *to)
{
	struct fmt time = time_of(view, e->wall_ns);
	struct buf details = { 0 };
	char pid[16] = "";

	if (e->process.pid)
		snprintf(pid, sizeof pid, "%d", e->process.pid);
	put_details(&details, e);
	put_line(&(struct line){ time.at, event_name(e->kind), pid, name ? name : "",
	                         details.at ? details.at : "" },
	         ink_of(e), INK_PLAIN, to);
	buf_done(&details);
}

void events_view_json_put(const struct events_view *view, const struct event_record *e,
                          const char *name, struct json *j)
{
	json_begin_object(j);
	json_put_u64(j, "schema", RECORD_SCHEMA);
	field_table_json(j, &event_fields, e);
	json_put_str(j, "process_name", name);
	if (view->started_ns)
		json_put_double(j, "offset_seconds",
		                ((double)e->wall_ns - (double)view->started_ns) / 1e9, 6);
	json_end_object(j);
}
