/* SPDX-License-Identifier: MIT */
/* The last system calls of processes that failed: a column of their rows, so that they last as long as those do. */
#include "store/process_table.h"
#include "store/store_handle.h"

static const struct migration migrations[] = {
	{ 6, "ALTER TABLE process ADD COLUMN last_calls TEXT;", NULL },
	{ 0 },
};

static const struct statement statements[] = {
	{ "UPDATE process SET last_calls = ?1 WHERE id = ?2" },
	{ 0 },
};

static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < snap->flights.len; i++) {
		const struct flight *f = &snap->flights.at[i];
		int64_t row = process_table_row(st, f->id, err);

		r = (int)MIN(row, (int64_t)0);
		if (row > 0)
			r = statement_run(
				st, &statements[0],
				BINDS(bind_text(snapshot_string(snap, f->calls), f->calls.len),
			              bind_int(row)),
				err);
	}
	return r;
}

const struct store_table flight_table = {
	.name = "flight",
	.migrations = migrations,
	.statements = statements,
	.put = put,
	.on_flush = true,
};
