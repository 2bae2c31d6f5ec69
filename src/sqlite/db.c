/* SPDX-License-Identifier: MIT */
#include "sqlite/db.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "sqlite/db_file.h"

#define BUSY_TIMEOUT_MS 2000
#define CACHE_KIB 4096

static int io_errno(sqlite3 *db)
{
	int sys = sqlite3_system_errno(db);

	if (sqlite3_extended_errcode(db) == SQLITE_IOERR_SHORT_READ)
		return EUCLEAN; /* the file is shorter than its header claims */
	if (sys == ENOSPC || sys == EDQUOT)
		return ENOSPC;
	return sys == EROFS ? EROFS : EIO;
}

static int errno_of(sqlite3 *db)
{
	switch (sqlite3_errcode(db) & 0xff) { /* without what the extended codes add */
	case SQLITE_FULL:
		return ENOSPC;
	case SQLITE_IOERR:
		return io_errno(db);
	case SQLITE_CONSTRAINT: /* only a damaged file violates one */
		return sqlite3_extended_errcode(db) == SQLITE_CONSTRAINT_TRIGGER ? EIO : EUCLEAN;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_ERROR: /* our statements fit our schema, unless it is damaged */
	case SQLITE_MISMATCH:
		return EUCLEAN;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return EBUSY;
	case SQLITE_READONLY:
		return EROFS;
	case SQLITE_INTERRUPT:
		return ETIME;
	case SQLITE_NOMEM:
		return ENOMEM;
	case SQLITE_CANTOPEN:
		return sqlite3_system_errno(db) ? sqlite3_system_errno(db) : EACCES;
	default:
		return EIO;
	}
}

int db_fail(sqlite3 *db, const char *what, struct err *err)
{
	const char *path = sqlite3_db_filename(db, "main");
	int code = errno_of(db);

	if (code == EUCLEAN && path && sqlite3_db_readonly(db, "main") == 1)
		db_file_suspect(path);
	return err_set(err, code, "%s in '%s': %s", what, path ? path : "?", sqlite3_errmsg(db));
}

/* No pragma here may touch the file: whether it is ours is not known yet. */
static int configure(sqlite3 *db, enum db_mode mode, struct err *err)
{
	int on;

	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
	sqlite3_wal_autocheckpoint(db, 0);
	sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &on);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, &on);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, &on);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 64 << 20);
	if (mode == DB_READ)
		return db_exec(db, "PRAGMA query_only=1", err);
	return 0;
}

int db_open(const char *path, enum db_mode mode, sqlite3 **ret, struct err *err)
{
	int flags = mode == DB_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
	cleanup(db_closep) sqlite3 *db = NULL;
	int r;

	/* Memory statistics are not used, and cost a mutex at each allocation. Only
	 * the first call in a process has an effect. */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	if (sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
		int code = db ? errno_of(db) : ENOMEM;

		return err_set(err, code, "open '%s': %s", path,
		               db ? sqlite3_errmsg(db) : "no memory");
	}
	r = configure(db, mode, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(db);
	return 0;
}

void db_close(sqlite3 *db)
{
	sqlite3_close_v2(db);
}

int db_exec(sqlite3 *db, const char *sql, struct err *err)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return db_fail(db, "write", err);
}

int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL) == SQLITE_OK)
		return 0;
	return db_fail(db, "prepare", err);
}

int db_step(sqlite3_stmt *stmt, struct err *err)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		rc = db_fail(sqlite3_db_handle(stmt),
		             sqlite3_stmt_readonly(stmt) ? "read" : "write", err);
	else
		rc = 0;
	sqlite3_reset(stmt);
	return rc;
}

int db_run(sqlite3_stmt *stmt, struct err *err)
{
	int r = db_step(stmt, err);

	if (r > 0) {
		sqlite3_reset(stmt);
		r = 0;
	}
	return r;
}

int db_query(sqlite3 *db, const char *sql, const struct bind *binds, size_t n, sqlite3_stmt **ret,
             struct err *err)
{
	int r = db_prepare(db, sql, ret, err);

	if (r == 0)
		db_bind(*ret, binds, n);
	return r;
}

int db_do(sqlite3 *db, const char *sql, const struct bind *binds, size_t n, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_query(db, sql, binds, n, &stmt, err);

	return r < 0 ? r : db_run(stmt, err);
}

int db_int(sqlite3 *db, const char *sql, const struct bind *binds, size_t n, int64_t *ret,
           struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_query(db, sql, binds, n, &stmt, err);

	if (r == 0)
		r = db_step(stmt, err);
	if (r < 0)
		return r;
	*ret = r > 0 ? sqlite3_column_int64(stmt, 0) : 0;
	return 0;
}

bool db_has_column(sqlite3 *db, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(db, "main", table, column, NULL, NULL, NULL, NULL,
	                                     NULL) == SQLITE_OK;
}

void db_bind(sqlite3_stmt *stmt, const struct bind *binds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bind_value(stmt, (int)i + 1, binds[i]);
}

int64_t db_column_or_absent(sqlite3_stmt *stmt, int column)
{
	if (sqlite3_column_type(stmt, column) != SQLITE_INTEGER)
		return -1;
	return sqlite3_column_int64(stmt, column);
}

double db_column_real(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL
	               ? NAN
	               : sqlite3_column_double(stmt, column);
}

double db_time(uint64_t wall_ns)
{
	return (double)(wall_ns / 1000) / 1e6;
}

void db_column_text(sqlite3_stmt *stmt, int column, char *to, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	snprintf(to, size, "%s", text ? text : "");
}

uint64_t db_time_ns(double seconds)
{
	return seconds > 0 && seconds < 9e9 ? (uint64_t)llround(seconds * 1e6) * 1000 : 0;
}
