/* SPDX-License-Identifier: MIT */
#include "view/syscall_view.h"

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

void syscall_view_json(struct json *j, const struct syscall_record *calls, size_t n)
{
	json_begin_object(j);
	for (size_t i = 0; i < n; i++) {
		json_key(j, calls[i].name);
		json_begin_object(j);
		json_put_u64(j, "count", calls[i].count);
		json_put_u64(j, "errors", calls[i].errors);
		json_put_double(j, "time_pct", 100 * calls[i].time_ratio, 2);
		json_end_object(j);
	}
	json_end_object(j);
}
