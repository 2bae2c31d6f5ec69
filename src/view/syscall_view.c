/* SPDX-License-Identifier: MIT */
#include "view/syscall_view.h"

#include <stdio.h>

#include "view/format.h"
#include "view/table.h"

/* Microseconds, as strace prints them: most calls take less than one. */
static void add_mean(struct table *t, const struct syscall_record *c)
{
	if (c->count)
		table_add(t, format_milli(c->ns / c->count, 1).at, INK_PLAIN);
	else
		table_add_figure(t, NULL, INK_PLAIN); /* the first one has not returned yet */
}

static void add_call(struct table *t, const struct syscall_record *c)
{
	table_add(t, c->name, INK_PLAIN);
	table_add(t, format_count(c->count).at, INK_PLAIN);
	table_add_figure(t, c->errors ? format_count(c->errors).at : "-", INK_PLAIN);
	table_add(t, format_duration(c->ns).at, INK_PLAIN);
	add_mean(t, c);
	table_add(t, format_percent_bare(c->time_ratio).at, INK_PLAIN);
}

void syscall_view(const struct syscall_record *calls, size_t n, size_t shown, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "CALL", TABLE_LEFT, .min_width = 8 }, { "CALLS", TABLE_RIGHT },
		{ "ERRORS", TABLE_RIGHT, 2 },           { "TIME", TABLE_RIGHT },
		{ "USECS/CALL", TABLE_RIGHT, 1 },       { "%", TABLE_RIGHT },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };

	for (size_t i = 0; i < MIN(n, shown); i++)
		add_call(&t, &calls[i]);
	table_print(&t, to);
	table_done(&t);
}

/* ---- in a report ----------------------------------------------------------------------------- */

#define HOT_SHOWN 3
#define ERRORS_SHOWN 3
#define CALLERS_SHOWN 12

static void add_hot(struct table *t, const struct syscall_record *calls, size_t n)
{
	cleanup(buf_done) struct buf text = { 0 };

	for (size_t i = 0; i < MIN(n, (size_t)HOT_SHOWN); i++)
		if (calls[i].ns)
			buf_printf(&text, "%s%s %s", i ? ", " : "", calls[i].name,
			           format_percent(calls[i].time_ratio).at);
	table_add_figure(t, text.len ? text.at : NULL, INK_PLAIN);
}

/* The most frequent of all: "openat ENOENT 12, read EAGAIN 3". */
static void add_errors(struct table *t, const struct syscall_record *calls, size_t n)
{
	const struct syscall_error_record *last = NULL;
	cleanup(buf_done) struct buf text = { 0 };

	for (unsigned shown = 0; shown < ERRORS_SHOWN; shown++) {
		const struct syscall_error_record *most = NULL;
		const char *call = NULL;

		for (size_t i = 0; i < n; i++)
			for (unsigned k = 0; k < calls[i].n_errors; k++) {
				const struct syscall_error_record *e = &calls[i].by_error[k];
				bool is_new = !last || e->count < last->count ||
				              (e->count == last->count && e > last);

				if (is_new && (!most || e->count > most->count)) {
					most = e;
					call = calls[i].name;
				}
			}
		if (!most)
			break;
		buf_printf(&text, "%s%s %s %s", shown ? ", " : "", call, most->name,
		           format_count(most->count).at);
		last = most;
	}
	table_add_figure(t, text.len ? text.at : NULL, INK_PLAIN);
}

static void add_caller(struct table *t, const char *name, const struct syscall_record *calls,
                       size_t n)
{
	uint64_t count = 0, ns = 0;

	for (size_t i = 0; i < n; i++) {
		count += calls[i].count;
		ns += calls[i].ns;
	}
	table_add(t, name, INK_PLAIN);
	table_add(t, format_count(count).at, INK_PLAIN);
	table_add(t, format_duration(ns).at, INK_PLAIN);
	add_hot(t, calls, n);
	add_errors(t, calls, n);
}

static const char *name_of(const struct report *r, struct proc_id id)
{
	const char *name = report_name_of(r, id);

	return name ? name : "process";
}

void syscall_view_report(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "of", TABLE_LEFT, .min_width = 10 },
		{ "calls", TABLE_RIGHT },
		{ "time", TABLE_RIGHT, 2 },
		{ "most time in", TABLE_LEFT, .min_width = 12 },
		{ "failed", TABLE_LEFT, 1, .min_width = 12 },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	size_t shown = 0, total = 1;

	if (!r->n_syscalls)
		return;
	add_caller(&t, "job", r->syscalls.at, r->n_syscalls);
	vec_each(&r->callers, c) {
		char name[COMM_LEN + 16];

		total += c->len > 0;
		if (!c->len || shown++ >= CALLERS_SHOWN)
			continue;
		if (c->sheet)
			snprintf(name, sizeof name, "sheet %u", c->sheet);
		else
			snprintf(name, sizeof name, "%s %d", name_of(r, c->id), c->id.pid);
		add_caller(&t, name, r->syscalls.at + c->at, c->len);
	}
	table_print_section(&t, "System calls", total, "caller", to);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void put_errors(struct json *j, const void *record)
{
	const struct syscall_record *call = record;

	json_begin_object(j);
	for (unsigned i = 0; i < call->n_errors; i++)
		json_put_u64(j, call->by_error[i].name, call->by_error[i].count);
	json_end_object(j);
}

#define RECORD struct syscall_record
static const struct field rows[] = {
	{ "count", FIELD(NUMBER, count), .help = "how often it was called" },
	{ "errors", FIELD(NUMBER, errors), .help = "… and failed" },
	{ "errors_by_name", FIELD_PUT, .put = put_errors,
	  .help = "the most frequent ways in which it failed, such as ENOENT, and how often" },
	{ "time_pct", FIELD(RATIO, time_ratio), .decimals = 2,
	  .help = "share of the time in all calls" },
};
#undef RECORD
const struct field_table syscall_fields = FIELD_TABLE(rows);

void syscall_view_json(struct json *j, const struct syscall_record *calls, size_t n)
{
	json_begin_object(j);
	for (size_t i = 0; i < n; i++) {
		json_key(j, calls[i].name);
		field_table_json_object(j, &syscall_fields, &calls[i]);
	}
	json_end_object(j);
}
