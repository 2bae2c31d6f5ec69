/* SPDX-License-Identifier: MIT */
#include "sqlite/db.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

#define BUSY_TIMEOUT_MS 2000
#define CACHE_KIB 4096

static int io_errno(sqlite3 *db)
{
	int sys = sqlite3_system_errno(db);

	if (sqlite3_extended_errcode(db) == SQLITE_IOERR_SHORT_READ)
		return EUCLEAN; /* the file is shorter than its own header says */
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

	return err_set(err, errno_of(db), "%s in '%s': %s", what, path ? path : "?",
	               sqlite3_errmsg(db));
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

int db_int(sqlite3 *db, const char *sql, int64_t *ret, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, sql, &stmt, err);

	if (r == 0)
		r = db_step(stmt, err);
	if (r <= 0)
		return r < 0 ? r : err_set(err, ENODATA, "no row: %s", sql);
	*ret = sqlite3_column_int64(stmt, 0);
	return 0;
}

bool db_has_column(sqlite3 *db, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(db, "main", table, column, NULL, NULL, NULL, NULL,
	                                     NULL) == SQLITE_OK;
}

void db_bind_or_null(sqlite3_stmt *stmt, int index, int64_t value)
{
	if (value < 0)
		sqlite3_bind_null(stmt, index);
	else
		sqlite3_bind_int64(stmt, index, value);
}

int64_t db_column_or_absent(sqlite3_stmt *stmt, int column)
{
	if (sqlite3_column_type(stmt, column) != SQLITE_INTEGER)
		return -1;
	return sqlite3_column_int64(stmt, column);
}

static size_t valid_prefix(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t n = (signed char)text[at] > 0 ? 1 : text_utf8_len(text + at, len - at);

		if (!n || !text[at])
			break;
		at += n;
	}
	return at;
}

void db_bind_text(sqlite3_stmt *stmt, int index, const char *text, size_t len)
{
	struct buf clean = { .max = 65536 };
	size_t at;

	len = strnlen(text, len);
	at = valid_prefix(text, len);
	if (at == len) {
		sqlite3_bind_text(stmt, index, text, (int)MIN(len, (size_t)65536),
		                  SQLITE_TRANSIENT);
		return;
	}
	for (; len; text += at, len -= at) {
		at = valid_prefix(text, len);
		buf_put(&clean, text, at);
		if (at < len) {
			buf_puts(&clean, "\uFFFD");
			at++;
		}
	}
	sqlite3_bind_text(stmt, index, clean.at, (int)clean.len, SQLITE_TRANSIENT);
	buf_done(&clean);
}

double db_time(uint64_t wall_ns)
{
	return (double)(wall_ns / 1000) / 1e6;
}

uint64_t db_time_ns(double seconds)
{
	return seconds > 0 && seconds < 9e9 ? (uint64_t)llround(seconds * 1e6) * 1000 : 0;
}
