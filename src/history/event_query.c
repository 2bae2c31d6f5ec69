/* SPDX-License-Identifier: MIT */
/* Events, of everybody or of one job, in the order of their time. */
#include <errno.h>

#include "history/history_handle.h"
#include "history/job_query.h"

/* A recorder speaks of a job a little before it begins and after it ends. */
#define JOB_MARGIN_S 5

void history_put_event_columns(const struct history *r, struct buf *sql)
{
	bool is_old = !history_has_column(r, "event", "job");

	buf_puts(sql, "e.id, e.time, e.kind, e.inferred, p.pid, p.start_ticks, e.exit_code,"
	              " e.signal, e.count, coalesce(e.details, ''), ");
	buf_puts(sql,
	         is_old ? "p.job_id, p.sheet, NULL"
	                : "coalesce(p.job_id, (SELECT j.job_id FROM job j WHERE j.id = e.job)),"
	                  " coalesce(p.sheet, e.sheet), e.name");
}

struct event_record history_event_of(sqlite3_stmt *stmt)
{
	int64_t kind = sqlite3_column_int64(stmt, 2);

	return (struct event_record){
		.id = sqlite3_column_int64(stmt, 0),
		.wall_ns = db_time_ns(sqlite3_column_double(stmt, 1)),
		.kind = kind >= 0 && kind < EVENT_KIND_COUNT ? (enum event_kind)kind
		                                             : EVENT_RECORDER,
		.inferred = sqlite3_column_int(stmt, 3) != 0,
		.process = { .pid = sqlite3_column_int(stmt, 4),
		             .start_ticks = (uint64_t)sqlite3_column_int64(stmt, 5) },
		.has_exit_code = sqlite3_column_type(stmt, 6) == SQLITE_INTEGER,
		.exit_code = sqlite3_column_int(stmt, 6),
		.signal = sqlite3_column_int(stmt, 7),
		.count = sqlite3_column_int64(stmt, 8),
		.details = (const char *)sqlite3_column_text(stmt, 9),
		.job_id = (const char *)sqlite3_column_text(stmt, 10),
		.sheet = (uint32_t)sqlite3_column_int64(stmt, 11),
		.name = (const char *)sqlite3_column_text(stmt, 12),
	};
}

int history_tell_events(sqlite3_stmt *stmt, struct history_cursor *at, size_t limit,
                        reader_event_fn fn, void *self, struct err *err)
{
	size_t n = 0;
	int result = 0;

	while (result == 0 && n < MIN(limit, (size_t)INT32_MAX)) {
		struct event_record e;

		result = db_step(stmt, err);
		if (result <= 0)
			break;
		e = history_event_of(stmt);
		result = MIN(fn(self, &e), 0);
		at->since_ns = e.wall_ns;
		at->after_id = e.id;
		n++;
	}
	return result < 0 ? result : (int)n;
}

static int prepare(struct history *r, struct buf *take_sql, const struct history_cursor *at,
                   uint64_t kinds, sqlite3_stmt **ret, struct err *err)
{
	int result = db_prepare(r->db, take_sql->at, ret, err);

	buf_done(take_sql);
	if (result < 0)
		return result;
	sqlite3_bind_double(*ret, 1, db_time(at->since_ns));
	sqlite3_bind_int64(*ret, 2, at->after_id);
	sqlite3_bind_int64(*ret, 3, (int64_t)kinds);
	return 0;
}

#define AFTER_CURSOR " e.time >= ?1 AND (e.time > ?1 OR e.id > ?2) AND (?3 = 0 OR ?3 >> e.kind & 1)"

static int read_events(struct history *r, struct history_cursor *at, uint64_t kinds, size_t limit,
                       reader_event_fn fn, void *self, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	struct buf sql = { 0 };
	int result;

	buf_puts(&sql, "SELECT ");
	history_put_event_columns(r, &sql);
	buf_puts(&sql, " FROM event e LEFT JOIN process p ON p.id = e.proc WHERE" AFTER_CURSOR
	               " ORDER BY e.time, e.id");
	result = prepare(r, &sql, at, kinds, &stmt, err);
	return result < 0 ? result : history_tell_events(stmt, at, limit, fn, self, err);
}

int history_events(struct history *r, struct history_cursor *at, uint64_t kinds, size_t limit,
                   reader_event_fn fn, void *self, struct err *err)
{
	int result = history_begin(r, err);

	if (result < 0)
		return result;
	result = read_events(r, at, kinds, limit, fn, self, err);
	history_end(r);
	return result;
}

/* Three roads to them: over the processes, by the job's name on them, and over its recorder. */
static void put_job_events(const struct history *r, struct buf *sql)
{
	bool is_old = !history_has_column(r, "event", "job");

	buf_puts(sql, "WITH its(id) AS (SELECT e.id FROM process p JOIN event e ON e.proc = p.id"
	              " WHERE p.job_id = ?4");
	if (!is_old)
		buf_puts(sql, " UNION ALL SELECT e.id FROM job j JOIN event e ON e.job = j.id"
		              " WHERE j.job_id = ?4");
	buf_printf(sql,
	           " UNION ALL SELECT e.id FROM job j JOIN event e ON e.recorder = j.recorder"
	           " AND e.proc IS NULL%s AND e.time >= j.started - %d"
	           " AND e.time <= coalesce(j.ended, 1e12) + %d WHERE j.job_id = ?4) SELECT ",
	           is_old ? "" : " AND e.job IS NULL", JOB_MARGIN_S, JOB_MARGIN_S);
	history_put_event_columns(r, sql);
	buf_puts(sql, " FROM its CROSS JOIN event e ON e.id = its.id"
	              " LEFT JOIN process p ON p.id = e.proc WHERE" AFTER_CURSOR
	              " ORDER BY e.time, e.id");
}

static int read_job_events(struct history *r, const char *job_id, struct history_cursor *at,
                           uint64_t kinds, size_t limit, reader_event_fn fn, void *self,
                           struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	struct buf sql = { 0 };
	int result;

	put_job_events(r, &sql);
	result = prepare(r, &sql, at, kinds, &stmt, err);
	if (result < 0)
		return result;
	sqlite3_bind_text(stmt, 4, job_id, -1, SQLITE_TRANSIENT);
	return history_tell_events(stmt, at, limit, fn, self, err);
}

int history_job_events(struct history *r, const char *job_id, struct history_cursor *at,
                       uint64_t kinds, size_t limit, reader_event_fn fn, void *self,
                       struct err *err)
{
	int result = history_begin(r, err);

	if (result < 0)
		return result;
	result = read_job_events(r, job_id, at, kinds, limit, fn, self, err);
	history_end(r);
	return result;
}
