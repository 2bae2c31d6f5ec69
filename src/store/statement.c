/* SPDX-License-Identifier: MIT */
#include "store/statement.h"

#include <errno.h>

#include "store/store_handle.h"

static int prepare(struct store *st, const struct statement *q, sqlite3_stmt **ret, struct err *err)
{
	struct buf sql = { 0 };
	int r;

	if (q->sql)
		return db_prepare(st->db, q->sql, ret, err);
	q->build(&sql);
	r = db_prepare(st->db, sql.at, ret, err);
	buf_done(&sql);
	return r;
}

sqlite3_stmt *statement_get(struct store *st, const struct statement *q, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	uint64_t known;

	if (map_get(&st->statements, (uintptr_t)q, &known))
		return (sqlite3_stmt *)(uintptr_t)known;
	if (prepare(st, q, &stmt, err) < 0)
		return NULL;
	map_put(&st->statements, (uintptr_t)q, (uintptr_t)stmt);
	return stmt;
}

int statement_run(struct store *st, const struct statement *q, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, q, err);

	return stmt ? db_run(stmt, err) : -err->code;
}

int statement_run_with(struct store *st, const struct statement *q, int64_t a, int64_t b, int64_t c,
                       struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, q, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, a);
	sqlite3_bind_int64(stmt, 2, b);
	sqlite3_bind_int64(stmt, 3, c);
	return db_run(stmt, err);
}

int64_t statement_int(struct store *st, const struct statement *q, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, q, err);
	int64_t value = -EUCLEAN;
	int r = stmt ? db_step(stmt, err) : -err->code;

	if (r < 0)
		return r;
	if (r > 0)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return value;
}

void statements_done(struct store *st)
{
	struct map_slot slot;
	size_t it = 0;

	while (map_next(&st->statements, &it, &slot))
		sqlite3_finalize((sqlite3_stmt *)(uintptr_t)slot.value);
	map_reset(&st->statements);
}

void statement_put_columns(struct buf *sql, const struct metric *table, const uint8_t *ids,
                           size_t n, const char *before, const char *after)
{
	for (size_t i = 0; i < n; i++) {
		char name[COLUMN_NAME_MAX];

		column_name(&table[ids ? ids[i] : i], name);
		buf_printf(sql, ", %s%s%s", before, name, after);
	}
}

size_t statement_gauges(const struct metric *table, size_t n, uint8_t ret[static 64])
{
	size_t gauges = 0;

	for (size_t i = 0; i < MIN(n, (size_t)64); i++)
		if (table[i].kind == METRIC_GAUGE)
			ret[gauges++] = (uint8_t)i;
	return gauges;
}

void statement_put_means(struct buf *sql, const char *table, const struct metric *metrics, size_t n,
                         const char *names, const char *values)
{
	uint8_t ids[64];

	n = statement_gauges(metrics, n, ids);
	buf_printf(sql, "UPDATE %s SET (%s", table, names);
	statement_put_columns(sql, metrics, ids, n, "", "");
	buf_printf(sql, ") = (SELECT %s", values);
	statement_put_columns(sql, metrics, ids, n, "CAST(round(avg(", ")) AS INTEGER)");
	buf_printf(sql, " FROM %s" STATEMENT_MINUTE("id") ") WHERE id = ?1", table);
}

void statement_put_values(struct buf *sql, size_t n)
{
	buf_puts(sql, ") VALUES(?1");
	for (size_t i = 2; i <= n; i++)
		buf_printf(sql, ", ?%zu", i);
	buf_puts(sql, ")");
}

void statement_bind_readings(sqlite3_stmt *stmt, int index, const struct metric *table, size_t n,
                             uint64_t present, const uint64_t *value)
{
	for (size_t i = 0; i < n; i++)
		db_bind_or_null(stmt, index + (int)i,
		                present >> i & 1 ? column_value(&table[i], value[i])
		                                 : COLUMN_ABSENT);
}
