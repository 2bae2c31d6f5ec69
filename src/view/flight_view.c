/* SPDX-License-Identifier: MIT */
#include "view/flight_view.h"

#include <stdio.h>
#include <string.h>

#include "model/record_fields.h"
#include "view/format.h"
#include "view/job_view.h"
#include "view/table.h"

#define PROCESSES_SHOWN 3
#define CALLS_SHOWN 8
#define SLOW_S 0.01 /* the time of a longer call is shown */

static void add_call(struct table *t, const struct report *r, const struct report_flight *f,
                     const struct last_call_record *c)
{
	uint64_t began_ns = c->began_ns;
	cleanup(buf_done) struct buf text = { 0 };

	if (f->has_threads && c->tid)
		buf_printf(&text, "[%d] ", c->tid);
	buf_puts(&text, c->text);
	if (c->seconds >= SLOW_S)
		buf_printf(&text, " (took %s)", format_duration((uint64_t)(c->seconds * 1e9)).at);
	table_add(t, format_offset(began_ns - MIN(r->job.started_ns, began_ns)).at, INK_QUIET);
	table_addn(t, text.at, text.len, INK_PLAIN);
}

/* The calls of a process that did not fail were recorded when its job did. */
static void put_title(const struct last_call_record *end, const char *name, struct canvas *to)
{
	struct words how = job_view_exit_words(end->has_exit_code, end->exit_code, end->signal,
	                                       end->core_dumped);
	bool has_failed = end->signal || end->exit_code;
	char title[COMM_LEN + 200];

	if (!end->ended_ns && !*how.at)
		snprintf(title, sizeof title, "Last calls of %s %d, still running", name,
		         end->process.pid);
	else if (*how.at && !has_failed)
		snprintf(title, sizeof title, "Last calls of %s %d while it ran", name,
		         end->process.pid);
	else
		snprintf(title, sizeof title, "Last calls of %s %d before %s", name,
		         end->process.pid, *how.at ? how.at : "its end");
	canvas_title(to, title);
}

static void put_flight(const struct report *r, const struct report_flight *f, size_t shown,
                       struct canvas *to)
{
	static const struct table_column columns[] = {
		{ NULL, TABLE_RIGHT },
		{ NULL, TABLE_LEFT, .min_width = 24, .in_middle = true },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };

	put_title(&f->end, f->name, to);
	for (size_t i = f->len - MIN(f->len, shown); i < f->len; i++)
		add_call(&t, r, f, &r->calls.at[f->at + i].c);
	table_print(&t, to);
	table_done(&t);
}

/* The command of the job, if it failed: of all its processes it began first. */
static size_t find_command(const struct report *r)
{
	size_t first = 0;

	for (size_t i = 1; i < r->flights.len; i++)
		if (r->flights.at[i].end.process.start_ticks <
		    r->flights.at[first].end.process.start_ticks)
			first = i;
	return r->job.status == JOB_FAILED ? first : SIZE_MAX;
}

/* Many scripts have children that fail as they should. So it is the command, the last one, and the latest
 * that a signal killed; in the order of their ends. One that still runs comes last: the others may have waited for it. */
static void select_flights(const struct report *r, bool shown[static REPORT_FLIGHTS_MAX])
{
	size_t n = r->flights.len, command = find_command(r), count = 0;

	if (command < n)
		count += shown[command] = true;
	for (size_t i = n; i-- > 0 && count < PROCESSES_SHOWN;)
		if (!shown[i] && (i == n - 1 || r->flights.at[i].end.signal))
			count += shown[i] = true;
}

static void put_left_out(const struct report *r, struct canvas *to)
{
	if (r->flights_left_out)
		canvas_printf(
			to, INK_QUIET, "\n  the last calls of %s more process%s were not kept\n",
			format_count(r->flights_left_out).at, r->flights_left_out == 1 ? "" : "es");
}

static void put_selected(const struct report *r, const bool shown[static REPORT_FLIGHTS_MAX],
                         struct canvas *to)
{
	size_t calls = 0;

	for (size_t i = 0; i < r->flights.len; i++) {
		if (!shown[i])
			continue;
		put_flight(r, &r->flights.at[i], CALLS_SHOWN, to);
		calls += MIN(r->flights.at[i].len, (size_t)CALLS_SHOWN);
	}
	if (calls == r->calls.len)
		return put_left_out(r, to);
	canvas_printf(to, INK_PLAIN, "  … %s calls of %s process%s are kept; see: proctor report ",
	              format_count(r->calls.len).at, format_count(r->flights.len).at,
	              r->flights.len == 1 ? "" : "es");
	canvas_text(to, INK_PLAIN, r->job.id, strlen(r->job.id), SIZE_MAX);
	canvas_put(to, INK_PLAIN, " --last-calls\n");
}

void flight_view(const struct report *r, struct canvas *to)
{
	bool shown[REPORT_FLIGHTS_MAX] = { 0 };

	select_flights(r, shown);
	put_selected(r, shown, to);
}

void flight_view_of(const struct report *r, struct proc_id process, struct canvas *to)
{
	bool shown[REPORT_FLIGHTS_MAX] = { 0 }, has_any = false;
	size_t n = r->flights.len;

	for (size_t i = 0; i < n; i++)
		if (proc_id_eq(r->flights.at[i].end.process, process))
			has_any = shown[i] = true;
	if (!has_any)
		select_flights(r, shown);
	else if (!r->flights.at[n - 1].end.ended_ns)
		shown[n - 1] = true;
	put_selected(r, shown, to);
}

void flight_view_all(const struct report *r, struct canvas *to)
{
	vec_each(&r->flights, f)
		put_flight(r, f, SIZE_MAX, to);
	put_left_out(r, to);
}

/* ---- for programs ---------------------------------------------------------------------------- */

#define RECORD struct report_flight
static const struct field flight_rows[] = {
	{ "pid", FIELD(NUMBER, end.process.pid), .help = "the process" },
	{ "name", FIELD(CHARS, name), .help = "its short name" },
	FIELD_EXIT_CODE(end.exit_code, end.has_exit_code),
	{ "signal_num", FIELD(ORDINAL, end.signal), .help = "the signal it died of; null: none" },
	{ "ended_at", FIELD(ORDINAL, end.ended_ns), .unit = UNIT_NS,
	  .help = "when it ended; null: it ran when its job failed" },
};
#undef RECORD
const struct field_table flight_fields = FIELD_TABLE(flight_rows);

void flight_view_json(struct json *j, const void *report)
{
	const struct report *r = report;

	if (!report_has_flight_recorder(r)) {
		json_nil(j);
		return;
	}
	json_begin_array(j);
	vec_each(&r->flights, f) {
		json_begin_object(j);
		field_table_json(j, &flight_fields, f);
		json_open_array(j, "calls");
		for (size_t i = 0; i < f->len; i++)
			field_table_json_object(j, &last_call_fields, &r->calls.at[f->at + i].c);
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
}

void flight_view_left_out_json(struct json *j, const void *report)
{
	const struct report *r = report;

	if (report_has_flight_recorder(r))
		json_u64(j, r->flights_left_out);
	else
		json_nil(j);
}
