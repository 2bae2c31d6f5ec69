/* SPDX-License-Identifier: MIT */
/* db.h - one SQLite connection with our settings: WAL, no automatic checkpoints, errors as errno.
 *
 * SQLite's errors become:
 *   -ENOSPC   the disk (or quota) is full; the transaction was rolled back, the handle is good
 *   -EUCLEAN  the file is damaged
 *   -EBUSY    another connection holds a lock
 *   -EROFS    read-only file system or file
 *   -ETIME    the query ran out of time
 *   -EIO      any other disk error */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sqlite/bind.h"

enum db_mode {
	DB_READ,
	DB_WRITE,
};

/* The file must exist. Errors name it. */
int db_open(const char *path, enum db_mode mode, sqlite3 **ret, struct err *err) must_check;
void db_close(sqlite3 *db); /* NULL is fine; all statements must be finalized */
DEFINE_CLEANUP(sqlite3 *, db_close)
DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/* -errno for the last failure of the connection; `what` names the operation. */
int db_fail(sqlite3 *db, const char *what, struct err *err);
int db_exec(sqlite3 *db, const char *sql, struct err *err) must_check;
int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct err *err) must_check;
/* 1: a row, 0: no more (reset, and bindings kept), -errno (reset). */
int db_step(sqlite3_stmt *stmt, struct err *err) must_check;
/* For statements without rows: steps to the end and resets. */
int db_run(sqlite3_stmt *stmt, struct err *err) must_check;
void db_bind(sqlite3_stmt *stmt, const struct bind *binds, size_t n); /* from ?1 on */

/* For statements that are used once. */
int db_query(sqlite3 *db, const char *sql, const struct bind *binds, size_t n, sqlite3_stmt **ret,
             struct err *err) must_check;
int db_do(sqlite3 *db, const char *sql, const struct bind *binds, size_t n, struct err *err)
	must_check;
/* The first column of the first row; 0 when there is none. */
int db_int(sqlite3 *db, const char *sql, const struct bind *binds, size_t n, int64_t *ret,
           struct err *err) must_check;

bool db_has_column(sqlite3 *db, const char *table, const char *column);

/* COLUMN_ABSENT for NULL. */
int64_t db_column_or_absent(sqlite3_stmt *stmt, int column);
double db_column_real(sqlite3_stmt *stmt, int column); /* NAN for NULL */
/* Times are unix seconds as REAL, good to the microsecond. */
double db_time(uint64_t wall_ns);
uint64_t db_time_ns(double seconds);
/* NULL is "", and what does not fit is cut off. */
void db_column_text(sqlite3_stmt *stmt, int column, char *to, size_t size);
