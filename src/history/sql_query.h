/* SPDX-License-Identifier: MIT */
/* sql_query.h - runs one SELECT of a user on the recorded history: read-only whatever it contains, and no
 * longer than allowed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SQL_TIME_DEFAULT_NS UINT64_C(5000000000)

enum sql_type { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_TEXT, SQL_BLOB };

struct sql_value {
	enum sql_type type;
	int64_t integer;
	double real;
	const char *text; /* text and blob; n bytes */
	size_t n;
};

/* Receives the result. A function that returns less than 0 ends the query with that value. */
struct sql_sink {
	void *self;
	int (*columns)(void *self, const char *const *names, size_t n); /* once, before the rows */
	int (*row)(void *self, const struct sql_value *values, size_t n);
};

/* `text` is a single statement. -EINVAL: it is not valid SQL, not a single one, or does
 * more than read; -ETIME: it took longer than `limit_ns`, not counting the sink's time; -ENOENT: there is no
 * database. */
int sql_query_run(const char *path, const char *text, uint64_t limit_ns,
                  const struct sql_sink *sink, struct err *err) must_check;
/* Checks the database for damage. 0: ours, and every page is where it belongs; -EUCLEAN: damaged; -ETIME: no
 * damage found within `limit_ns`, but not all was checked; -ENOENT: there is none. */
int sql_query_check(const char *path, uint64_t limit_ns, struct err *err) must_check;
/* The version of the SQLite library in use, which may differ from that of the build. */
const char *sql_query_version(void);
