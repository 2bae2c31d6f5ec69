/* SPDX-License-Identifier: MIT */
/* Processes: those of a job, and all that had one pid over time. */
#include <math.h>

#include "history/history_handle.h"
#include "history/job_query.h"

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
		.cpu_time_ns = history_read_figure(stmt, 13, NS_PER_US, cpu),
		.peak_rss_bytes = history_read_figure(stmt, 14, 1024, peak),
		.read_bytes = history_read_figure(stmt, 15, 1, read),
		.written_bytes = history_read_figure(stmt, 16, 1, written),
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

/* Through the view: there the planner goes from the process to its snapshots. */
static int prepare_history(struct history *r, pid_t pid, const struct history_cursor *at,
                           sqlite3_stmt **ret, struct err *err)
{
	int result = db_prepare(r->db,
	                        "SELECT s.id, s.timestamp, pm.age_seconds, t.boot_us, pm.state,"
	                        " pm.cpu_percent, pm.rss_mb, pm.vms_mb, pm.threads, pm.open_fds,"
	                        " (SELECT p.uid FROM process p WHERE p.pid = ?1"
	                        " AND p.started <= s.timestamp + 0.02"
	                        " ORDER BY p.started DESC LIMIT 1)"
	                        " FROM process_metrics pm JOIN snapshots s ON s.id = pm.snapshot_id"
	                        " JOIN snapshot t ON t.id = s.id WHERE pm.pid = ?1"
	                        " AND s.timestamp >= ?2 AND (s.timestamp > ?2 OR s.id > ?3)"
	                        " ORDER BY s.timestamp, s.id",
	                        ret, err);

	if (result < 0)
		return result;
	sqlite3_bind_int(*ret, 1, pid);
	sqlite3_bind_double(*ret, 2, db_time(at->since_ns));
	sqlite3_bind_int64(*ret, 3, at->after_id);
	return 0;
}

static void read_metric(sqlite3_stmt *stmt, int column, double scale, enum proc_metric id,
                        struct proc_readings *to)
{
	if (sqlite3_column_type(stmt, column) != SQLITE_NULL)
		readings_set(to, id,
		             (uint64_t)llround(sqlite3_column_double(stmt, column) * scale));
}

static struct history_point point_of(sqlite3_stmt *stmt, pid_t pid)
{
	double start_s = (double)sqlite3_column_int64(stmt, 3) / 1e6 -
	                 sqlite3_column_double(stmt, 2);
	const unsigned char *state = sqlite3_column_text(stmt, 4);
	struct history_point p = {
		.snapshot = sqlite3_column_int64(stmt, 0),
		.wall_ns = db_time_ns(sqlite3_column_double(stmt, 1)),
		.process = { .pid = pid, .start_ticks = (uint64_t)llround(start_s * TICKS_PER_S) },
		.state = state && state[0] ? (char)state[0] : '?',
		.cpu_ratio = sqlite3_column_type(stmt, 5) == SQLITE_NULL
		                     ? NAN
		                     : sqlite3_column_double(stmt, 5) / 100,
	};

	read_metric(stmt, 6, 1 << 20, PROC_RSS, &p.r);
	read_metric(stmt, 7, 1 << 20, PROC_VMS, &p.r);
	read_metric(stmt, 8, 1, PROC_THREADS, &p.r);
	read_metric(stmt, 9, 1, PROC_FDS, &p.r);
	p.uid = sqlite3_column_type(stmt, 10) == SQLITE_NULL
	                ? UINT32_MAX
	                : (uint32_t)sqlite3_column_int64(stmt, 10);
	return p;
}

static int read_history(struct history *r, pid_t pid, uint32_t uid, struct history_cursor *at,
                        size_t limit, reader_point_fn fn, void *self, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result = prepare_history(r, pid, at, &stmt, err);
	size_t n = 0;

	while (result == 0 && n < limit) {
		struct history_point p;

		result = db_step(stmt, err);
		if (result <= 0)
			break;
		result = 0;
		p = point_of(stmt, pid);
		at->since_ns = p.wall_ns;
		at->after_id = p.snapshot;
		if (uid != HISTORY_ANY_UID && p.uid != uid)
			continue;
		result = MIN(fn(self, &p), 0);
		n++;
	}
	return result < 0 ? result : (int)n;
}

int history_process(struct history *r, pid_t pid, uint32_t uid, struct history_cursor *at,
                    size_t limit, reader_point_fn fn, void *self, struct err *err)
{
	int result = history_begin(r, err);

	if (result < 0)
		return result;
	result = read_history(r, pid, uid, at, MIN(limit, (size_t)INT32_MAX), fn, self, err);
	history_end(r);
	return result;
}
