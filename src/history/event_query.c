/* SPDX-License-Identifier: MIT */
/* Events, all or those of one job, in the order of their time. */
#include "history/history_handle.h"
#include "history/job_query.h"
#include "schema/schema_format.h"
#include "sqlite/record_column.h"

/* A recorder reports on a job from a little before it begins until after it ends. */
#define JOB_MARGIN_S 5

#define RECORD struct event_record
static const struct field event_rows[] = {
	{ "e.id", FIELD(NUMBER, id) },
	{ "e.time", FIELD(ORDINAL, wall_ns), .unit = UNIT_NS },
	{ "e.kind", FIELD(NUMBER, kind) },
	{ "e.inferred", FIELD(BOOL, inferred) },
	{ "p.pid", FIELD(ORDINAL, process.pid) },
	{ "p.start_ticks", FIELD(ORDINAL, process.start_ticks) },
	{ "e.exit_code", FIELD(CODE, exit_code), .has = offsetof(RECORD, has_exit_code) },
	{ "e.signal", FIELD(ORDINAL, signal) },
	{ "e.count", FIELD(ORDINAL, count) },
	{ "e.details", FIELD(WORDS, details) },
	{ "p.comm", FIELD(STRING, comm) },
	{ "e.sender_pid", FIELD(CODE, sender_pid), .has = offsetof(RECORD, has_sender) },
	{ "e.sender_uid", FIELD(NUMBER, sender_uid) },
	{ "e.sender_comm", FIELD(STRING, sender_comm) },
	/* These differ between versions of the schema. */
	{ "job_id", FIELD(STRING, job_id) },
	{ "job_uid", FIELD(CODE, job_uid), .has = offsetof(RECORD, has_job_uid) },
	{ "sheet", FIELD(ORDINAL, sheet) },
	{ "name", FIELD(STRING, name) },
};
static const struct field_table event_columns = FIELD_TABLE(event_rows);
#undef RECORD

/* The user of the job. Before version 2 jobs had none, and before version 5 processes had the id of a job, which was
 * unique. */
static const char *job_uid(const struct history *r)
{
	if (!db_has_column(r->db, "job", "uid"))
		return "NULL";
	if (db_has_column(r->db, "process", "job"))
		return "(SELECT j.uid FROM job j WHERE j.id = coalesce(p.job, e.job))";
	return db_has_column(r->db, "event", "job")
	               ? "iif(p.job_id IS NULL, (SELECT j.uid FROM job j WHERE j.id = e.job),"
	                 " (SELECT j.uid FROM job j WHERE j.job_id = p.job_id))"
	               : "(SELECT j.uid FROM job j WHERE j.job_id = p.job_id)";
}

/* Whether the event is none of the job that its process was in. Before version 5 that is not known. */
static const char *is_late(const struct history *r)
{
	return db_has_column(r->db, "process", "job")
	               ? SCHEMA_EVENT_IS_LATE("(SELECT j.ended FROM job j WHERE j.id = p.job)")
	               : "0";
}

static void append_columns(const struct history *r, struct buf *sql)
{
	bool is_old = !db_has_column(r->db, "event", "job");

	record_columns_select(sql, &(const struct field_table){ event_rows, event_columns.n - 4 });
	if (is_old)
		buf_printf(sql, ", %s, %s, p.sheet, NULL", history_member_job_id(r), job_uid(r));
	else
		buf_printf(sql,
		           ", coalesce(iif(%s, NULL, %s), (SELECT j.job_id FROM job j WHERE j.id = e.job)),"
		           " iif(%s, NULL, %s), iif(%s, NULL, coalesce(nullif(e.sheet, 0), p.sheet)), e.name",
		           is_late(r), history_member_job_id(r), is_late(r), job_uid(r),
		           is_late(r));
}

/* ?1 is the job, if it is about one. */
#define AFTER_CURSOR " e.time >= ?2 AND (e.time > ?2 OR e.id > ?3) AND (?4 = 0 OR ?4 >> e.kind & 1)"

static int read_rows(sqlite3_stmt *stmt, struct history_cursor *at, uint64_t kinds, size_t limit,
                     reader_event_fn fn, void *self, struct err *err)
{
	int n = 0, result = 0;

	sqlite3_bind_double(stmt, 2, db_time(at->since_ns));
	sqlite3_bind_int64(stmt, 3, at->after_id);
	sqlite3_bind_int64(stmt, 4, (int64_t)kinds);
	while (result >= 0 && (result = history_next_row(stmt, limit, &n, err)) > 0) {
		struct event_record e;

		record_columns_read(stmt, 0, &event_columns, &e);
		if (e.kind >= EVENT_KIND_COUNT)
			e.kind = EVENT_RECORDER;
		result = fn(self, &e);
		at->since_ns = e.wall_ns;
		at->after_id = e.id;
	}
	return result < 0 ? result : n;
}

int history_events(struct history *r, struct history_cursor *at, uint64_t kinds, size_t limit,
                   reader_event_fn fn, void *self, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int result = history_begin(r, &scope, err);

	if (result < 0)
		return result;
	buf_puts(&sql, "SELECT ");
	append_columns(r, &sql);
	buf_puts(&sql, " FROM event e LEFT JOIN process p ON p.id = e.proc WHERE" AFTER_CURSOR
	               " ORDER BY e.time, e.id");
	result = db_prepare(r->db, sql.at, &stmt, err);
	return result < 0 ? result : read_rows(stmt, at, kinds, limit, fn, self, err);
}

/* Three ways lead to them: its processes, the job itself, and its recorder. */
static void append_its_ids(const struct history *r, struct buf *sql)
{
	bool is_old = !db_has_column(r->db, "event", "job");

	buf_printf(sql,
	           "WITH its(id) AS (SELECT e.id FROM process p JOIN event e ON e.proc = p.id"
	           " WHERE %s AND NOT %s",
	           history_is_member(r), is_late(r));
	if (!is_old)
		buf_puts(sql, " UNION ALL SELECT e.id FROM job j JOIN event e ON e.job = j.id"
		              " WHERE j.id = ?1");
	buf_printf(sql,
	           " UNION ALL SELECT e.id FROM job j JOIN event e ON e.recorder = j.recorder"
	           " AND e.proc IS NULL%s AND e.time >= j.started - %d"
	           " AND e.time <= coalesce(j.ended, 1e12) + %d WHERE j.id = ?1) SELECT ",
	           is_old ? "" : " AND e.job IS NULL", JOB_MARGIN_S, JOB_MARGIN_S);
}

static void append_job_events(const struct history *r, struct buf *sql)
{
	append_its_ids(r, sql);
	append_columns(r, sql);
	buf_puts(sql, " FROM its CROSS JOIN event e ON e.id = its.id"
	              " LEFT JOIN process p ON p.id = e.proc WHERE" AFTER_CURSOR
	              " ORDER BY e.time, e.id");
}

int history_job_events(struct history *r, struct job_key key, struct history_cursor *at,
                       uint64_t kinds, size_t limit, reader_event_fn fn, void *self,
                       struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int result = history_begin(r, &scope, err);

	if (result < 0)
		return result;
	append_job_events(r, &sql);
	result = history_prepare_for_job(r, sql.at, key, &stmt, err);
	return result < 0 ? result : read_rows(stmt, at, kinds, limit, fn, self, err);
}

/* ---- as they are stored ---------------------------------------------------------------------- */

/* The id of its first event; 0: none is stored yet. */
static int find_first(struct history *r, struct job_key key, int64_t *ret, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int result;

	append_its_ids(r, &sql);
	buf_puts(&sql, "min(id) FROM its");
	result = history_prepare_for_job(r, sql.at, key, &stmt, err);
	if (result == 0)
		result = db_step(stmt, err);
	if (result > 0)
		*ret = sqlite3_column_int64(stmt, 0);
	return MIN(result, 0);
}

/* From the last id on, whatever they belong to: only what is new is looked at. */
static void append_new_events(const struct history *r, struct buf *sql)
{
	bool is_old = !db_has_column(r->db, "event", "job");

	buf_puts(sql, "SELECT ");
	append_columns(r, sql);
	buf_printf(sql,
	           " FROM event e LEFT JOIN process p ON p.id = e.proc WHERE e.id > ?3"
	           " AND (?4 = 0 OR ?4 >> e.kind & 1) AND ((%s AND NOT %s)%s OR (e.proc IS NULL%s"
	           " AND EXISTS (SELECT 1 FROM job j WHERE j.id = ?1 AND j.recorder = e.recorder"
	           " AND e.time >= j.started - %d AND e.time <= coalesce(j.ended, 1e12) + %d)))"
	           " ORDER BY e.id",
	           history_is_member(r), is_late(r), is_old ? "" : " OR e.job = ?1",
	           is_old ? "" : " AND e.job IS NULL", JOB_MARGIN_S, JOB_MARGIN_S);
}

int history_follow_job(struct history *r, struct job_key key, struct history_cursor *at,
                       uint64_t kinds, size_t limit, reader_event_fn fn, void *self,
                       struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int64_t last = 0, first = 0;
	int result = history_begin(r, &scope, err);

	if (result == 0)
		result = db_int(r->db, "SELECT max(id) FROM event", NULL, 0, &last, err);
	if (result == 0 && !at->after_id)
		result = find_first(r, key, &first, err);
	if (result < 0 || (!at->after_id && !first))
		return result;
	at->after_id = MAX(at->after_id, first - 1);
	append_new_events(r, &sql);
	result = history_prepare_for_job(r, sql.at, key, &stmt, err);
	if (result == 0)
		result = read_rows(stmt, at, kinds, limit, fn, self, err);
	if (result >= 0 && (size_t)result < limit)
		at->after_id = last; /* those of others need not be looked at again */
	return result;
}
