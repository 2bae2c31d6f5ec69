/* SPDX-License-Identifier: MIT */
/* Anomalies: a row an episode, written when it begins and again when there is more to tell. One
 * whose beginning could not be stored is stored whole with its end. */
#include <math.h>
#include <string.h>

#include "model/history_record.h"
#include "store/store_handle.h"

static void bind_real(sqlite3_stmt *stmt, int index, double value)
{
	if (isfinite(value))
		sqlite3_bind_double(stmt, index, value);
}

static int put_one(struct store *st, const struct snapshot *snap, const struct anomaly *a,
                   struct buf *text, struct err *err)
{
	struct anomaly_record told = anomaly_record_of(a, snap, text);
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_ANOMALY, err);
	int64_t job = job_row(st, snap, a->job, err);

	if (!stmt || job < 0)
		return -err->code;
	sqlite3_clear_bindings(stmt);
	sqlite3_bind_int64(stmt, 1, st->recorder << SCHEMA_EPISODE_BITS | (int64_t)a->seq);
	sqlite3_bind_text(stmt, 2, told.kind, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, told.severity);
	sqlite3_bind_double(stmt, 4, db_time(told.began_ns));
	if (told.ended_ns)
		sqlite3_bind_double(stmt, 5, db_time(told.ended_ns));
	if (told.process.pid) {
		sqlite3_bind_int64(stmt, 6, told.process.pid);
		sqlite3_bind_int64(stmt, 7, (int64_t)told.process.start_ticks);
	}
	db_bind_or_null(stmt, 8, job ? job : COLUMN_ABSENT);
	db_bind_or_null(stmt, 9, job && told.sheet ? (int64_t)told.sheet : COLUMN_ABSENT);
	bind_real(stmt, 10, told.value);
	bind_real(stmt, 11, told.peak);
	bind_real(stmt, 12, told.threshold);
	db_bind_text(stmt, 13, told.description, text->len);
	return db_run(stmt, err);
}

int anomaly_put_all(struct store *st, const struct snapshot *snap, struct err *err)
{
	cleanup(buf_done) struct buf text = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < snap->anomalies.len; i++)
		if (snap->anomalies.at[i].news != ANOMALY_SAME)
			r = put_one(st, snap, &snap->anomalies.at[i], &text, err);
	return r;
}
