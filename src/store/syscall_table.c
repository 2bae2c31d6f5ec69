/* SPDX-License-Identifier: MIT */
/* The system calls of traced processes, sheets and jobs: a column in the row of each, so that they last as long
 * as it does. */
#include "store/process_table.h"
#include "store/store_handle.h"

static const struct migration migrations[] = {
	{ 6,
	  "ALTER TABLE process ADD COLUMN syscalls TEXT;"
	  "ALTER TABLE sheet ADD COLUMN syscalls TEXT;"
	  "ALTER TABLE sheet ADD COLUMN syscall_counts TEXT;"
	  "ALTER TABLE sheet ADD COLUMN syscall_time_pct TEXT;"
	  "ALTER TABLE job ADD COLUMN syscalls TEXT;"
	  "ALTER TABLE job ADD COLUMN syscall_counts TEXT;"
	  "ALTER TABLE job ADD COLUMN syscall_time_pct TEXT;",
	  NULL },
	{ 0 },
};

/* Whole, for our readers; and in two parts for views, which may not take JSON apart. */
#define SET "SET syscalls = ?1, syscall_counts = ?2, syscall_time_pct = ?3"

enum { SET_PROCESS, SET_SHEET, SET_JOB };

static const struct statement statements[] = {
	[SET_PROCESS] = { "UPDATE process " SET " WHERE id = ?4" },
	[SET_SHEET] = { "UPDATE sheet " SET " WHERE job = ?4 AND num = ?5" },
	[SET_JOB] = { "UPDATE job " SET " WHERE id = ?4" },
	{ 0 },
};

static int put_calls(struct store *st, const struct syscall_owner *of, const struct bind text[3],
                     struct err *err)
{
	int64_t job = job_table_row(st, of->job), row = job;
	const struct statement *set = &statements[SET_JOB];

	if (!job)
		return 0;
	if (of->id.pid) {
		set = &statements[SET_PROCESS];
		row = process_table_row(st, of->id, err);
	} else if (of->sheet) {
		set = &statements[SET_SHEET];
	}
	if (row <= 0)
		return (int)row;
	return statement_run(
		st, set, BINDS(text[0], text[1], text[2], bind_int(row), bind_int(of->sheet)), err);
}

static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	void (*const forms[])(struct json * j, const struct syscall_count *counts,
	                      size_t n) = { syscall_counts_json, syscall_counts_json_calls,
		                            syscall_counts_json_shares };
	struct buf text[ARRAY_LEN(forms)] = { 0 };
	struct bind binds[ARRAY_LEN(forms)];
	int r = 0;

	for (size_t i = 0; r == 0 && i < snap->callers.len; i++) {
		const struct syscall_owner *of = &snap->callers.at[i];

		for (size_t k = 0; of->has_changed && k < ARRAY_LEN(forms); k++) {
			struct json j = { .out = &text[k] };

			buf_reset(&text[k]);
			forms[k](&j, snap->syscalls.at + of->at, of->len);
			binds[k] = bind_text(text[k].at, text[k].len);
		}
		if (of->has_changed)
			r = put_calls(st, of, binds, err);
	}
	for (size_t k = 0; k < ARRAY_LEN(forms); k++)
		buf_done(&text[k]);
	return r;
}

void syscall_table_put_columns(struct buf *sql, const char *t)
{
	buf_printf(sql,
	           ", coalesce(%s.syscall_counts, '{}') AS syscall_counts,"
	           " coalesce(%s.syscall_time_pct, '{}') AS syscall_time_pct",
	           t, t);
}

const struct store_table syscall_table = {
	.name = "syscall",
	.migrations = migrations,
	.statements = statements,
	.put = put,
	.on_flush = true,
};
