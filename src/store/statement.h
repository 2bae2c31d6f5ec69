/* SPDX-License-Identifier: MIT */
/* statement.h - the writer's statements: declared by the table that uses them, prepared once and
 * kept. */
#pragma once

#include "base/buf.h"
#include "sqlite/column.h"
#include "sqlite/db.h"

struct store;

/* Braces in the text stand for a list with one item for each metric of `columns`, in which * is the
 * name of its column: "INSERT INTO cgroup(id{*}) VALUES(?{?})", "SELECT ?1{max(*)} FROM host". */
struct statement {
	const char *sql;
	enum column_group columns;
	void (*build)(struct buf *sql); /* instead of sql */
};

/* Ready to be bound and not stepped. NULL when it cannot be prepared. */
sqlite3_stmt *statement_get(struct store *st, const struct statement *q, struct err *err);
int statement_run(struct store *st, const struct statement *q, const struct bind *binds, size_t n,
                  struct err *err) must_check;
/* The single integer that it selects, 0 when there is none, or -errno. */
int64_t statement_int(struct store *st, const struct statement *q, const struct bind *binds,
                      size_t n, struct err *err) must_check;
/* Stored integers behind other values, NULL for COLUMN_ABSENT. */
int statement_run_ints(struct store *st, const struct statement *q, const struct bind *binds,
                       size_t n, const int64_t *values, size_t n_values, struct err *err)
	must_check;
/* The same with readings, by the metrics of its columns. */
int statement_run_readings(struct store *st, const struct statement *q, const struct bind *binds,
                           size_t n, uint64_t present, const uint64_t *value, struct err *err)
	must_check;
void statements_done(struct store *st);

#define STATEMENT_MEAN(column) "CAST(round(avg(" column ")) AS INTEGER)"
/* The snapshots of a minute: ?1 is the first, ?2 the last, ?3 their keyframe. */
#define STATEMENT_MINUTE(column)                                                                   \
	" WHERE " column                                                                           \
	" IN (SELECT s.id FROM snapshot s WHERE s.id BETWEEN ?1 AND ?2 AND s.kf = ?3)"

/* Downsampling: a minute becomes the first of its snapshots. `own` are columns of the table besides those of metrics, `values`
 * what they become. */
/* clang-format off */
/* The minute means of a table with one row for each snapshot. Columns that are not named keep the
 * value that they had when the minute began. */
#define STATEMENT_MINUTE_MEAN(table, own, values)                            \
	"UPDATE " table " SET (" own "{*}) = (SELECT " values                \
	"{" STATEMENT_MEAN("*") "} FROM " table STATEMENT_MINUTE("id")       \
	") WHERE id = ?1"
/* The minute means of a table with a row for each of these keys; `own` begins with them. */
#define STATEMENT_MINUTE_MEANS(table, keys, own, values)                     \
	"INSERT OR REPLACE INTO " table "(snapshot, " own "{*}) SELECT ?1, " \
	values "{" STATEMENT_MEAN("*") "} FROM " table                       \
	STATEMENT_MINUTE("snapshot") " GROUP BY " keys
/* The extremes, into `table`_range. `id` is its column of the snapshot; `group` is "" or GROUP BY. */
#define STATEMENT_MINUTE_RANGE(table, id, own, values, group)                \
	"INSERT OR REPLACE INTO " table "_range(" id ", " own                \
	"{*_min}{*_max}) SELECT ?1, " values "{min(*)}{max(*)} FROM " table  \
	STATEMENT_MINUTE(id) group
/* clang-format on */
