/* SPDX-License-Identifier: MIT */
/* statement.h - the writer's statements: declared by the table that uses them, prepared once and
 * kept. */
#pragma once

#include "base/buf.h"
#include "sqlite/column.h"
#include "sqlite/db.h"

struct store;

struct statement {
	const char *sql;
	void (*build)(struct buf *sql); /* instead of sql: from the metric tables */
};

/* Ready to be bound and not stepped. NULL when it cannot be prepared. */
sqlite3_stmt *statement_get(struct store *st, const struct statement *q, struct err *err);
int statement_run(struct store *st, const struct statement *q, struct err *err)
	must_check; /* no parameters */
/* With these for ?1, ?2 and ?3; what the statement does not have is left out. */
int statement_run_with(struct store *st, const struct statement *q, int64_t a, int64_t b, int64_t c,
                       struct err *err) must_check;
/* The single integer that it selects, or -errno. */
int64_t statement_int(struct store *st, const struct statement *q, struct err *err) must_check;
void statements_done(struct store *st);

/* Parts of statements about metrics. `ids` picks from the table; NULL: all in order. */
/* ", BEFOREnameAFTER" for each */
void statement_put_columns(struct buf *sql, const struct metric *table, const uint8_t *ids,
                           size_t n, const char *before, const char *after);
/* The ids of its gauges, of which a minute has a mean; how many. */
size_t statement_gauges(const struct metric *table, size_t n, uint8_t ret[static 64]);
/* Means of the gauges in the first row of a minute; a counter keeps what it was when the minute
 * began. `names` and `values` are the columns before them. */
void statement_put_means(struct buf *sql, const char *table, const struct metric *metrics, size_t n,
                         const char *names, const char *values);
void statement_put_values(struct buf *sql, size_t n); /* ") VALUES(?1, … ?n)" */
/* Values by their table, from this parameter on; NULL for what is absent. */
void statement_bind_readings(sqlite3_stmt *stmt, int index, const struct metric *table, size_t n,
                             uint64_t present, const uint64_t *value);

#define STATEMENT_MEAN(column) "CAST(round(avg(" column ")) AS INTEGER)"
/* The snapshots of a minute: ?1 is the first, ?2 the last, ?3 their keyframe. */
#define STATEMENT_MINUTE(column)                                                                   \
	" WHERE " column                                                                           \
	" IN (SELECT s.id FROM snapshot s WHERE s.id BETWEEN ?1 AND ?2 AND s.kf = ?3)"
/* The snapshots of keyframe ?1. */
#define STATEMENT_SNAPSHOTS                                                                        \
	"(SELECT s.id FROM keyframe k JOIN snapshot s ON s.id BETWEEN k.first AND k.last"          \
	" AND s.kf = k.id WHERE k.id = ?1)"
