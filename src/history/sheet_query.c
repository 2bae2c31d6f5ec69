/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "history/history_handle.h"
#include "history/job_query.h"
#include "sqlite/schema_format.h"

/* The stored number of a quality; without one it is a sum of those that were known. */
static enum quality quality_of(sqlite3_stmt *stmt, int column)
{
	int64_t stored = db_column_or_absent(stmt, column);

	return stored > 0 && stored < QUALITY_COUNT ? (enum quality)stored : QUALITY_AT_LEAST;
}

/* While a sheet runs, its sums are those of the processes so far. */
static int prepare_sheets(struct history *r, struct job_key key, sqlite3_stmt **ret,
                          struct err *err)
{
	cleanup(buf_done) struct buf sql = { 0 };

	if (!history_has_column(r, "sheet", "label"))
		return history_prepare_for_job(
			r,
			"SELECT t.num, NULL, t.status, t.started, t.ended, NULL, NULL, NULL,"
			" t.processes, t.cpu_time_us, NULL, t.peak_rss_kib, NULL, t.max_cpu"
			" FROM sheet t WHERE t.job = ?1 ORDER BY t.num",
			key, ret, err);
	buf_puts(&sql, "SELECT t.num, t.label, t.status, t.started, t.ended, t.exit_code, t.signal,"
	               " t.pid, coalesce(t.processes, s.n), coalesce(t.cpu_time_us, s.cpu),"
	               " coalesce(t.cpu_time_us_q, s.cpu_q), coalesce(t.peak_rss_kib, s.peak),"
	               " coalesce(t.peak_rss_kib_q, s.peak_q), coalesce(t.max_cpu, s.max_cpu)"
	               " FROM sheet t LEFT JOIN (");
	buf_puts(&sql, SCHEMA_SUMS_OF(""));
	buf_printf(&sql,
	           "%s" SCHEMA_NOT_OURS " AND p.sheet IS NOT NULL GROUP BY p.sheet) s"
	           " ON s.num = t.num AND t.status = 0 WHERE t.job = ?1 ORDER BY t.num",
	           history_is_member(r));
	return history_prepare_for_job(r, sql.at, key, ret, err);
}

static struct sheet_record sheet_of(sqlite3_stmt *stmt, bool is_lost)
{
	const unsigned char *label = sqlite3_column_text(stmt, 1);
	int64_t status = sqlite3_column_int64(stmt, 2);
	struct sheet_record s = {
		.s = { .num = (uint32_t)sqlite3_column_int64(stmt, 0),
		       .status = status >= 0 && status < JOB_STATUS_COUNT ? (enum job_status)status
		                                                          : JOB_LOST,
		       .started_ns = db_time_ns(sqlite3_column_double(stmt, 3)),
		       .ended_ns = db_time_ns(sqlite3_column_double(stmt, 4)),
		       .has_exit_code = sqlite3_column_type(stmt, 5) == SQLITE_INTEGER,
		       .exit_code = sqlite3_column_int(stmt, 5),
		       .signal = sqlite3_column_int(stmt, 6),
		       .pid = sqlite3_column_int(stmt, 7),
		       .is_stored = true },
		.processes = (uint64_t)sqlite3_column_int64(stmt, 8),
		.cpu_time_ns = history_read_figure(stmt, 9, NS_PER_US, quality_of(stmt, 10)),
		.peak_rss_bytes = history_read_figure(stmt, 11, 1024, quality_of(stmt, 12)),
		.max_cpu_ratio = column_ratio_inside(db_column_or_absent(stmt, 13)),
	};

	if (s.s.status == JOB_RUNNING && is_lost)
		s.s.status = JOB_LOST;
	snprintf(s.s.label, sizeof s.s.label, "%s", label ? (const char *)label : "");
	return s;
}

static int read_sheets(struct history *r, struct job_key key, bool is_lost, reader_sheet_fn fn,
                       void *self, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result = prepare_sheets(r, key, &stmt, err);
	size_t n = 0;

	while (result == 0 && n < SHEETS_MAX) {
		struct sheet_record s;

		result = db_step(stmt, err);
		if (result <= 0)
			break;
		s = sheet_of(stmt, is_lost);
		result = MIN(fn(self, &s), 0);
		n++;
	}
	return result < 0 ? result : (int)n;
}

int history_sheets(struct history *r, struct job_key key, reader_sheet_fn fn, void *self,
                   struct err *err)
{
	struct job job;
	int result = history_begin(r, err);

	if (result < 0)
		return result;
	result = history_load_job(r, key, &job, err);
	if (result > 0)
		result = read_sheets(r, key, job.status == JOB_LOST, fn, self, err);
	history_end(r);
	return result;
}
