/* SPDX-License-Identifier: MIT */
#include "history/sql_query.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sqlite/db_file.h"
#include "schema/schema_format.h"

#define COLUMNS_MAX 2000 /* SQLite's own ceiling */

/* Pragmas that are allowed; none with a value that would set something. */
static const char *const pragmas[] = {
	"application_id",  "collation_list", "compile_options", "database_list", "foreign_key_list",
	"freelist_count",  "function_list",  "index_info",      "index_list",    "index_xinfo",
	"integrity_check", "page_count",     "page_size",       "pragma_list",   "quick_check",
	"schema_version",  "table_info",     "table_list",      "table_xinfo",   "user_version",
};
/* Those of them whose argument names an object. */
static const char *const askers[] = {
	"foreign_key_list", "index_info", "index_list", "index_xinfo", "integrity_check",
	"quick_check",      "table_info", "table_list", "table_xinfo",
};

static bool is_in(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(list[i], name))
			return true;
	return false;
}

static int authorize(void *self, int action, const char *a, const char *b, const char *database,
                     const char *trigger)
{
	(void)self, (void)database, (void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return b && !strcasecmp(b, "load_extension") ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA:
		if (!a || !is_in(pragmas, ARRAY_LEN(pragmas), a))
			return SQLITE_DENY;
		return !b || is_in(askers, ARRAY_LEN(askers), a) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static int is_late(void *deadline_ns)
{
	return clock_mono_ns() > *(const uint64_t *)deadline_ns;
}

/* Only blanks, semicolons and comments may follow the statement. */
static bool has_more(sqlite3 *db, const char *tail)
{
	while (tail && *tail) {
		sqlite3_stmt *next = NULL;
		const char *before = tail;
		bool is_one = sqlite3_prepare_v2(db, tail, -1, &next, &tail) != SQLITE_OK || next;

		sqlite3_finalize(next);
		if (is_one)
			return true;
		if (tail == before)
			return false;
	}
	return false;
}

/* An error in the user's SQL is not a damaged file. */
static int fail(sqlite3 *db, struct err *err)
{
	switch (sqlite3_errcode(db) & 0xff) {
	case SQLITE_INTERRUPT:
		return err_set(err, ETIME, "the query took too long");
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_IOERR:
	case SQLITE_BUSY:
	case SQLITE_CANTOPEN:
		return db_fail(db, "read", err);
	case SQLITE_AUTH:
		return err_set(err, EINVAL, "not allowed here, this only reads: %s",
		               sqlite3_errmsg(db));
	default:
		break;
	}
	if (sqlite3_error_offset(db) >= 0)
		return err_set(err, EINVAL, "%s, at character %d of the query", sqlite3_errmsg(db),
		               sqlite3_error_offset(db) + 1);
	return err_set(err, EINVAL, "%s", sqlite3_errmsg(db));
}

const char *sql_query_version(void)
{
	return sqlite3_libversion();
}

static int prepare(sqlite3 *db, const char *text, sqlite3_stmt **ret, struct err *err)
{
	const char *tail = NULL;

	if (sqlite3_prepare_v2(db, text, -1, ret, &tail) != SQLITE_OK)
		return fail(db, err);
	if (!*ret)
		return err_set(err, EINVAL, "there is no statement");
	if (has_more(db, tail))
		return err_set(err, EINVAL, "only one statement at a time");
	if (!sqlite3_stmt_readonly(*ret))
		return err_set(err, EINVAL, "only statements that read");
	return 0;
}

static int send_columns(sqlite3_stmt *stmt, const struct sql_sink *sink, size_t n)
{
	const char **names = xcalloc(n, sizeof *names);
	int r;

	for (size_t i = 0; i < n; i++)
		names[i] = sqlite3_column_name(stmt, (int)i);
	r = sink->columns(sink->self, names, n);
	free(names);
	return r;
}

static struct sql_value value_of(sqlite3_stmt *stmt, int i)
{
	struct sql_value v = { .type = SQL_NULL };

	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		v.type = SQL_INTEGER;
		v.integer = sqlite3_column_int64(stmt, i);
		break;
	case SQLITE_FLOAT:
		v.type = SQL_REAL;
		v.real = sqlite3_column_double(stmt, i);
		break;
	case SQLITE_TEXT:
		v.type = SQL_TEXT;
		v.text = (const char *)sqlite3_column_text(stmt, i);
		v.n = (size_t)sqlite3_column_bytes(stmt, i);
		break;
	case SQLITE_BLOB:
		v.type = SQL_BLOB;
		v.text = sqlite3_column_blob(stmt, i);
		v.n = (size_t)sqlite3_column_bytes(stmt, i);
		break;
	default:
		break;
	}
	return v;
}

/* The time that the sink takes, for example a pager that waits for its user, is not the query's. */
static int send_rows(sqlite3 *db, sqlite3_stmt *stmt, const struct sql_sink *sink, size_t n,
                     uint64_t *deadline_ns, struct err *err)
{
	cleanup(freep) struct sql_value *values = xcalloc(n, sizeof *values);
	int rc, r;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		uint64_t began_ns = clock_mono_ns();

		for (size_t i = 0; i < n; i++)
			values[i] = value_of(stmt, (int)i);
		r = sink->row(sink->self, values, n);
		if (r < 0)
			return r;
		*deadline_ns += clock_mono_ns() - began_ns;
	}
	return rc == SQLITE_DONE ? 0 : fail(db, err);
}

/* The processes, with what those that live used until the last snapshot. It is made here, because a view
 * in a file must not call JSON functions when that file is not trusted. */
/* clang-format off */
static const char processes_view[] =
	"PRAGMA query_only = 0;"
	"CREATE TEMP VIEW processes AS SELECT j.job_id AS job_id, p.pid AS pid,"
	" p.start_ticks AS start_ticks, p.ppid AS ppid, p.sheet AS sheet_num, p.comm AS name,"
	" p.command AS command, p.started AS started, p.ended AS ended, p.exit_code AS exit_code,"
	" p.signal AS signal_num,"
	" " SCHEMA_LATER_CPU "/1e6 AS cpu_seconds,"
	" " SCHEMA_LATER_PEAK "/1024.0 AS peak_rss_mb,"
	" " SCHEMA_LATER("p.read_bytes", "v.read_bytes") " AS read_bytes,"
	" " SCHEMA_LATER("p.write_bytes", "v.write_bytes") " AS written_bytes,"
	" " SCHEMA_LATER("p.max_cpu", "v.max_cpu") "/10.0 AS max_cpu_pct, p.uid AS uid"
	" FROM main.process p LEFT JOIN main.job j ON j.id = p.job"
	SCHEMA_JOIN_LATEST(SCHEMA_LATEST("j.status = 0")) ";"
	"PRAGMA query_only = 1";
/* clang-format on */

/* One row for each call of a job, a sheet or a process. */
static const char syscalls_view[] =
	"PRAGMA query_only = 0;"
	"CREATE TEMP VIEW syscalls AS WITH caller(job, sheet, pid, syscalls) AS ("
	"SELECT id, NULL, NULL, syscalls FROM job WHERE syscalls IS NOT NULL UNION ALL"
	" SELECT job, num, NULL, syscalls FROM sheet WHERE syscalls IS NOT NULL UNION ALL"
	" SELECT job, sheet, pid, syscalls FROM process WHERE syscalls IS NOT NULL)"
	" SELECT j.job_id AS job_id, c.sheet AS sheet_num, c.pid AS pid, e.key AS name,"
	" json_extract(e.value, '$[0]') AS calls, json_extract(e.value, '$[1]') / 1e9 AS seconds,"
	" coalesce((SELECT sum(f.value) FROM json_each(e.value, '$[2]') f), 0) AS errors,"
	" json_extract(e.value, '$[2]') AS errors_by_name, j.uid AS uid"
	" FROM caller c JOIN json_each(c.syscalls) e JOIN job j ON j.id = c.job;"
	"PRAGMA query_only = 1";

/* One row for each of the last calls of a process that failed. */
static const char last_calls_view[] =
	"PRAGMA query_only = 0;"
	"CREATE TEMP VIEW last_calls AS SELECT j.job_id AS job_id, p.pid AS pid, p.comm AS process,"
	" p.exit_code AS exit_code, p.signal AS signal_num, e.key AS num,"
	" json_extract(e.value, '$[0]') / 1e9 AS timestamp,"
	" json_extract(e.value, '$[1]') / 1e9 AS seconds, json_extract(e.value, '$[2]') AS tid,"
	" json_extract(e.value, '$[3]') AS name, json_extract(e.value, '$[4]') AS result,"
	" json_extract(e.value, '$[5]') AS error, json_extract(e.value, '$[6]') AS text, j.uid AS uid"
	" FROM process p JOIN json_each(iif(p.last_calls = '', '[]', p.last_calls)) e"
	" JOIN job j ON j.id = p.job WHERE p.last_calls IS NOT NULL;"
	"PRAGMA query_only = 1";

/* For reading only, until the deadline. */
static int open_to_read(const char *path, const uint64_t *deadline_ns, sqlite3 **ret,
                        struct err *err)
{
	int r = db_file_open_to_read(path, ret, err);

	if (r < 0)
		return r;
	if (db_has_column(*ret, "job", "latest"))
		(void)sqlite3_exec(*ret, processes_view, NULL, NULL, NULL);
	if (db_has_column(*ret, "job", "syscalls"))
		(void)sqlite3_exec(*ret, syscalls_view, NULL, NULL, NULL);
	if (db_has_column(*ret, "process", "last_calls"))
		(void)sqlite3_exec(*ret, last_calls_view, NULL, NULL, NULL);
	/* They are set up at first use, which the authorizer would take for a CREATE TABLE. */
	(void)sqlite3_exec(*ret, "SELECT 1 FROM json_each('[]'), json_tree('[]')", NULL, NULL,
	                   NULL);
	sqlite3_set_authorizer(*ret, authorize, NULL);
	sqlite3_progress_handler(*ret, 1000, is_late, (void *)(uintptr_t)deadline_ns);
	return 0;
}

int sql_query_run(const char *path, const char *text, uint64_t limit_ns,
                  const struct sql_sink *sink, struct err *err)
{
	cleanup(db_closep) sqlite3 *db = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	uint64_t deadline_ns = clock_mono_ns() + limit_ns;
	size_t n;
	int r = open_to_read(path, &deadline_ns, &db, err);

	if (r == 0)
		r = prepare(db, text, &stmt, err);
	if (r < 0)
		return r;
	n = (size_t)MIN(sqlite3_column_count(stmt), COLUMNS_MAX);
	r = send_columns(stmt, sink, n);
	return r < 0 ? r : send_rows(db, stmt, sink, n, &deadline_ns, err);
}

/* A fault comes in two lines, of which the first only names the database. */
int sql_query_check(const char *path, uint64_t limit_ns, struct err *err)
{
	cleanup(db_closep) sqlite3 *db = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	uint64_t deadline_ns = clock_mono_ns() + limit_ns;
	const char *text, *newline;
	int r = open_to_read(path, &deadline_ns, &db, err);

	if (r == 0)
		r = prepare(db, "PRAGMA quick_check(1)", &stmt, err);
	if (r < 0)
		return r;
	if (sqlite3_step(stmt) != SQLITE_ROW)
		return fail(db, err);
	text = (const char *)sqlite3_column_text(stmt, 0);
	if (text && !strcmp(text, "ok"))
		return 0;
	newline = text ? strrchr(text, '\n') : NULL;
	return err_set(err, EUCLEAN, "'%s' is damaged: %.160s", path,
	               newline ? newline + 1
	               : text  ? text
	                       : "");
}
