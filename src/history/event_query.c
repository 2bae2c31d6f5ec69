/* SPDX-License-Identifier: MIT */
/* Events, all or those of one job, in the order of their time. */
#include <errno.h>

#include "history/history_handle.h"
#include "history/job_query.h"

/* A recorder reports on a job from a little before it begins until after it ends. */
#define JOB_MARGIN_S 5

static void put_event_columns(const struct history *r, struct buf *sql)
{
	bool is_old = !history_has_column(r, "event", "job");

	buf_puts(sql, "e.id, e.time, e.kind, e.inferred, p.pid, p.start_ticks, e.exit_code,"
	              " e.signal, e.count, coalesce(e.details, ''), ");
	buf_printf(sql,
	           is_old ? "%s, p.sheet, NULL"
	                  : "coalesce(%s, (SELECT j.job_id FROM job j WHERE j.id = e.job)),"
	                    " coalesce(p.sheet, e.sheet), e.name",
	           history_member_job_id(r));
}

static struct event_record event_of(sqlite3_stmt *stmt)
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

static int read_rows(sqlite3_stmt *stmt, struct history_cursor *at, size_t limit,
                     reader_event_fn fn, void *self, struct err *err)
{
	size_t n = 0;
	int result = 0;

	while (result == 0 && n < MIN(limit, (size_t)INT32_MAX)) {
		struct event_record e;

		result = db_step(stmt, err);
		if (result <= 0)
			break;
		e = event_of(stmt);
		result = MIN(fn(self, &e), 0);
		at->since_ns = e.wall_ns;
		at->after_id = e.id;
		n++;
	}
	return result < 0 ? result : (int)n;
}

/* ?1 is the job, if it is about one. */
static void bind_cursor(sqlite3_stmt *stmt, const struct history_cursor *at, uint64_t kinds)
{
	sqlite3_bind_double(stmt, 2, db_time(at->since_ns));
	sqlite3_bind_int64(stmt, 3, at->after_id);
	sqlite3_bind_int64(stmt, 4, (int64_t)kinds);
}

#define AFTER_CURSOR " e.time >= ?2 AND (e.time > ?2 OR e.id > ?3) AND (?4 = 0 OR ?4 >> e.kind & 1)"

static int read_events(struct history *r, struct history_cursor *at, uint64_t kinds, size_t limit,
                       reader_event_fn fn, void *self, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int result;

	buf_puts(&sql, "SELECT ");
	put_event_columns(r, &sql);
	buf_puts(&sql, " FROM event e LEFT JOIN process p ON p.id = e.proc WHERE" AFTER_CURSOR
	               " ORDER BY e.time, e.id");
	result = db_prepare(r->db, sql.at, &stmt, err);
	if (result < 0)
		return result;
	bind_cursor(stmt, at, kinds);
	return read_rows(stmt, at, limit, fn, self, err);
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

/* Three ways lead to them: its processes, the job itself, and its recorder. */
static void put_job_events(const struct history *r, struct buf *sql)
{
	bool is_old = !history_has_column(r, "event", "job");

	buf_printf(sql,
	           "WITH its(id) AS (SELECT e.id FROM process p JOIN event e ON e.proc = p.id"
	           " WHERE %s",
	           history_is_member(r));
	if (!is_old)
		buf_puts(sql, " UNION ALL SELECT e.id FROM job j JOIN event e ON e.job = j.id"
		              " WHERE j.id = ?1");
	buf_printf(sql,
	           " UNION ALL SELECT e.id FROM job j JOIN event e ON e.recorder = j.recorder"
	           " AND e.proc IS NULL%s AND e.time >= j.started - %d"
	           " AND e.time <= coalesce(j.ended, 1e12) + %d WHERE j.id = ?1) SELECT ",
	           is_old ? "" : " AND e.job IS NULL", JOB_MARGIN_S, JOB_MARGIN_S);
	put_event_columns(r, sql);
	buf_puts(sql, " FROM its CROSS JOIN event e ON e.id = its.id"
	              " LEFT JOIN process p ON p.id = e.proc WHERE" AFTER_CURSOR
	              " ORDER BY e.time, e.id");
}

static int read_job_events(struct history *r, struct job_key key, struct history_cursor *at,
                           uint64_t kinds, size_t limit, reader_event_fn fn, void *self,
                           struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int result;

	put_job_events(r, &sql);
	result = history_prepare_for_job(r, sql.at, key, &stmt, err);
	if (result < 0)
		return result;
	bind_cursor(stmt, at, kinds);
	return read_rows(stmt, at, limit, fn, self, err);
}

int history_job_events(struct history *r, struct job_key key, struct history_cursor *at,
                       uint64_t kinds, size_t limit, reader_event_fn fn, void *self,
                       struct err *err)
{
	int result = history_begin(r, err);

	if (result < 0)
		return result;
	result = read_job_events(r, key, at, kinds, limit, fn, self, err);
	history_end(r);
	return result;
}
