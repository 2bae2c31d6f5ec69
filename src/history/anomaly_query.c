/* SPDX-License-Identifier: MIT */
#include "sqlite/db.h"
#include "history/history_handle.h"
#include "history/job_query.h"
#include "sqlite/schema_format.h"

static const char text[] =
	"SELECT a.kind, a.severity, a.pid, a.start_ticks, j.job_id, a.sheet, a.began, a.ended,"
	" a.value, a.peak, a.threshold, coalesce(a.description, ''), a.job IS NULL"
	" FROM job j JOIN anomaly a ON a.job = j.id WHERE j.id = ?1"
	" UNION ALL SELECT a.kind, a.severity, a.pid, a.start_ticks, j.job_id, a.sheet, a.began,"
	" a.ended, a.value, a.peak, a.threshold, coalesce(a.description, ''), 1"
	" FROM job j JOIN anomaly a ON a.id BETWEEN j.recorder << 32 AND (j.recorder + 1 << 32) - 1"
	" WHERE j.id = ?1 AND a.pid IS NULL AND a.job IS NULL"
	" AND coalesce(a.ended, a.began) >= j.started AND a.began <= coalesce(j.ended, 1e12)"
	" ORDER BY 7 LIMIT ?2";
static_assert(SCHEMA_EPISODE_BITS == 32, "the number in the text above");

static uint64_t time_of(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL
	               ? 0
	               : db_time_ns(sqlite3_column_double(stmt, column));
}

static struct anomaly_record anomaly_of(sqlite3_stmt *stmt)
{
	int64_t severity = sqlite3_column_int64(stmt, 1);
	bool is_of_machine = sqlite3_column_int(stmt, 12);

	return (struct anomaly_record){
		.kind = (const char *)sqlite3_column_text(stmt, 0),
		.severity = severity >= 0 && severity < SEVERITY_COUNT ? (enum severity)severity
		                                                       : SEVERITY_LOW,
		.process = { (pid_t)sqlite3_column_int64(stmt, 2),
		             (uint64_t)sqlite3_column_int64(stmt, 3) },
		.job_id = is_of_machine ? NULL : (const char *)sqlite3_column_text(stmt, 4),
		.sheet = (uint32_t)sqlite3_column_int64(stmt, 5),
		.began_ns = time_of(stmt, 6),
		.ended_ns = time_of(stmt, 7),
		.value = history_read_real(stmt, 8),
		.peak = history_read_real(stmt, 9),
		.threshold = history_read_real(stmt, 10),
		.description = (const char *)sqlite3_column_text(stmt, 11),
	};
}

static int read_anomalies(struct history *r, struct job_key key, size_t limit, reader_anomaly_fn fn,
                          void *self, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result, n = 0;

	if (!history_has_column(r, "anomaly", "kind")) /* an older store */
		return 0;
	result = history_prepare_for_job(r, text, key, &stmt, err);
	if (result < 0)
		return result;
	sqlite3_bind_int64(stmt, 2, (int64_t)MIN(limit, (size_t)INT32_MAX));
	while ((result = db_step(stmt, err)) > 0) {
		const struct anomaly_record a = anomaly_of(stmt);

		result = fn(self, &a);
		if (result < 0)
			return result;
		n++;
	}
	return result < 0 ? result : n;
}

int history_job_anomalies(struct history *r, struct job_key key, size_t limit, reader_anomaly_fn fn,
                          void *self, struct err *err)
{
	int result = history_begin(r, err);

	if (result < 0)
		return result;
	result = read_anomalies(r, key, limit, fn, self, err);
	history_end(r);
	return result;
}
