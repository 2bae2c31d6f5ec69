/* SPDX-License-Identifier: MIT */
/* What a job consists of: its sheets, its processes, and what they held together over time. */
#include <errno.h>
#include <stdio.h>

#include "sqlite/schema_format.h"
#include "history/history_handle.h"
#include "history/job_query.h"

static struct figure figure_of(sqlite3_stmt *stmt, int column, uint64_t scale, enum quality quality)
{
	int64_t value = db_column_or_absent(stmt, column);

	if (value < 0)
		return (struct figure){ 0 };
	return (struct figure){ .value = (uint64_t)value * scale, .quality = quality };
}

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
		.cpu_time_ns = figure_of(stmt, 9, NS_PER_US, quality_of(stmt, 10)),
		.peak_rss_bytes = figure_of(stmt, 11, 1024, quality_of(stmt, 12)),
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

/* One row a life, the latest if several recorders saw it. */
static int prepare_processes(struct history *r, struct job_key key, sqlite3_stmt **ret,
                             struct err *err)
{
	const char *final = history_has_column(r, "process", "final") ? "p.final" : "NULL";
	const char *job = history_has_column(r, "process", "job") ? "job" : "job_id";
	cleanup(buf_done) struct buf sql = { 0 };

	buf_printf(&sql,
	           "SELECT p.pid, p.start_ticks, p.ppid, p.uid, p.sheet, p.comm, p.command,"
	           " p.started, p.ended, p.exit_code, p.signal, p.core_dumped, %s,"
	           " p.cpu_time_us, coalesce(p.peak_rss_kib, p.max_rss_kib), p.read_bytes,"
	           " p.write_bytes, p.max_cpu FROM process p WHERE %s"
	           " AND (p.start_ticks = 0 OR NOT EXISTS (SELECT 1 FROM process q"
	           " WHERE q.pid = p.pid AND q.start_ticks = p.start_ticks AND q.id > p.id"
	           " AND q.%s = p.%s)) ORDER BY p.started, p.id",
	           final, history_is_member(r), job, job);
	return history_prepare_for_job(r, sql.at, key, ret, err);
}

static const char *text_of(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? text : "";
}

static struct process_record process_of(sqlite3_stmt *stmt)
{
	int64_t final = sqlite3_column_int64(stmt, 12);
	enum quality cpu = final & FINAL_CPU ? QUALITY_EXACT : QUALITY_SAMPLED;
	enum quality peak = final & FINAL_PEAK ? QUALITY_EXACT : QUALITY_SAMPLED;
	enum quality read = final & FINAL_READ ? QUALITY_EXACT : QUALITY_SAMPLED;
	enum quality written = final & FINAL_WRITE ? QUALITY_EXACT : QUALITY_SAMPLED;

	return (struct process_record){
		.id = { .pid = sqlite3_column_int(stmt, 0),
		        .start_ticks = (uint64_t)sqlite3_column_int64(stmt, 1) },
		.ppid = sqlite3_column_int(stmt, 2),
		.uid = (uint32_t)sqlite3_column_int64(stmt, 3),
		.sheet = (uint32_t)sqlite3_column_int64(stmt, 4),
		.comm = text_of(stmt, 5),
		.command = text_of(stmt, 6),
		.started_ns = db_time_ns(sqlite3_column_double(stmt, 7)),
		.ended_ns = db_time_ns(sqlite3_column_double(stmt, 8)),
		.is_start_exact = final & FINAL_START,
		.has_exit_code = sqlite3_column_type(stmt, 9) == SQLITE_INTEGER,
		.exit_code = sqlite3_column_int(stmt, 9),
		.signal = sqlite3_column_int(stmt, 10),
		.core_dumped = sqlite3_column_int(stmt, 11) != 0,
		.cpu_time_ns = figure_of(stmt, 13, NS_PER_US, cpu),
		.peak_rss_bytes = figure_of(stmt, 14, 1024, peak),
		.read_bytes = figure_of(stmt, 15, 1, read),
		.written_bytes = figure_of(stmt, 16, 1, written),
		.max_cpu_ratio = column_ratio_inside(db_column_or_absent(stmt, 17)),
	};
}

static int read_processes(struct history *r, struct job_key key, size_t limit, reader_process_fn fn,
                          void *self, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result = prepare_processes(r, key, &stmt, err);
	size_t n = 0;

	while (result == 0 && n < limit) {
		struct process_record p;

		result = db_step(stmt, err);
		if (result <= 0)
			break;
		p = process_of(stmt);
		result = MIN(fn(self, &p), 0);
		n++;
	}
	return result < 0 ? result : (int)n;
}

int history_job_processes(struct history *r, struct job_key key, size_t limit, reader_process_fn fn,
                          void *self, struct err *err)
{
	int result = history_begin(r, err);

	if (result < 0)
		return result;
	result = read_processes(r, key, MIN(limit, (size_t)INT32_MAX), fn, self, err);
	history_end(r);
	return result;
}

static int read_sums(struct history *r, struct job_key key, size_t limit, reader_sum_fn fn,
                     void *self, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	size_t n = 0;
	int result;

	if (!history_has_column(r, "job_sample", "job"))
		return 0;
	result = history_prepare_for_job(
		r,
		"SELECT s.time, m.procs, m.rss_kib, m.cpu FROM job j CROSS JOIN job_sample m"
		" ON m.snapshot >= j.first_snapshot AND m.snapshot <="
		" coalesce(j.last_snapshot, 9223372036854775807) AND m.job = j.id"
		" CROSS JOIN snapshot s ON s.id = m.snapshot WHERE j.id = ?1"
		" ORDER BY m.snapshot",
		key, &stmt, err);
	while (result == 0 && n < limit) {
		struct job_sum_record sum;

		result = db_step(stmt, err);
		if (result <= 0)
			break;
		sum.wall_ns = db_time_ns(sqlite3_column_double(stmt, 0));
		sum.sum.procs = (uint32_t)sqlite3_column_int64(stmt, 1);
		sum.sum.rss_bytes = (uint64_t)sqlite3_column_int64(stmt, 2) << 10;
		sum.sum.cpu_ratio = column_ratio_inside(db_column_or_absent(stmt, 3));
		result = MIN(fn(self, &sum), 0);
		n++;
	}
	return result < 0 ? result : (int)n;
}

int history_job_sums(struct history *r, struct job_key key, size_t limit, reader_sum_fn fn,
                     void *self, struct err *err)
{
	int result = history_begin(r, err);

	if (result < 0)
		return result;
	result = read_sums(r, key, MIN(limit, (size_t)INT32_MAX), fn, self, err);
	history_end(r);
	return result;
}
