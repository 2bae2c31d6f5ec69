/* SPDX-License-Identifier: MIT */
/* The rows of samples: a full one for the keyframe, and what differs from it later. */
#include "store/store_handle.h"

int64_t sample_rows_id(int64_t keyframe, int64_t proc, int64_t at)
{
	return (keyframe + proc % SCHEMA_SLOTS) << SCHEMA_AT_BITS | at;
}

int sample_rows_put_base(struct store *st, int64_t keyframe, int64_t proc,
                         const int64_t cells[CELL_COUNT], struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_BASE, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, keyframe + proc % SCHEMA_SLOTS);
	sqlite3_bind_int64(stmt, 2, proc);
	for (int i = 0; i < CELL_COUNT; i++)
		db_bind_or_null(stmt, 3 + i, cells[i]);
	return db_run(stmt, err);
}

/* A cell that is as in the keyframe's row is left out; -1 says that it is absent now. */
int sample_rows_put_change(struct store *st, int64_t id, const int64_t base[CELL_COUNT],
                           const int64_t cells[CELL_COUNT], struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_CHANGE, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, id);
	for (int i = 0; i < CELL_COUNT; i++) {
		if (cells[i] == base[i])
			sqlite3_bind_null(stmt, 2 + i);
		else
			sqlite3_bind_int64(stmt, 2 + i, cells[i]);
	}
	return db_run(stmt, err);
}

/* The first change of a process in a keyframe. Readers look for changes only behind it. */
int sample_rows_set_changed(struct store *st, int64_t keyframe, int64_t proc, int64_t at,
                            struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_SET_CHANGED, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, keyframe + proc % SCHEMA_SLOTS);
	sqlite3_bind_int64(stmt, 2, at);
	return db_run(stmt, err);
}

int sample_rows_put_detail(struct store *st, int64_t id, const int64_t values[DETAIL_METRICS],
                           struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_DETAIL, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, id);
	for (int i = 0; i < (int)DETAIL_METRICS; i++)
		db_bind_or_null(stmt, 2 + i, values[i]);
	return db_run(stmt, err);
}

/* Extremes of what stayed the same are left out. */
int sample_rows_put_range(struct store *st, int64_t id, const int64_t min[CELL_COUNT],
                          const int64_t max[CELL_COUNT], struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_RANGE, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, id);
	for (int i = CELL_CPU; i < CELL_COUNT; i++) {
		int at = 2 + 2 * (i - CELL_CPU);

		db_bind_or_null(stmt, at, min[i] < max[i] ? min[i] : COLUMN_ABSENT);
		db_bind_or_null(stmt, at + 1, min[i] < max[i] ? max[i] : COLUMN_ABSENT);
	}
	return db_run(stmt, err);
}
