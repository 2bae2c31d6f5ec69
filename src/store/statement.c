/* SPDX-License-Identifier: MIT */
#include "store/statement.h"

#include "base/scan.h"
#include "store/store_handle.h"

/* ", BEFOREnameAFTER" for each metric of the set; `item` is "BEFORE*AFTER". */
static void append_list(struct buf *sql, const struct column_set *set, struct scan item)
{
	for (size_t i = 0; i < set->n; i++) {
		char name[COLUMN_NAME_MAX];

		column_name(&set->metrics[set->id[i]], name);
		buf_puts(sql, ", ");
		for (const char *c = item.p; c < item.end; c++)
			if (*c == '*')
				buf_puts(sql, name);
			else
				buf_putc(sql, *c);
	}
}

static void expand(struct buf *sql, const struct statement *q)
{
	struct column_set set = column_set(q->columns);
	struct scan rest = scan_str(q->sql), part;

	while (scan_until(&rest, '{', &part)) {
		buf_put(sql, part.p, scan_left(&part));
		if (scan_until(&rest, '}', &part))
			append_list(sql, &set, part);
	}
	buf_put(sql, rest.p, scan_left(&rest));
}

static int prepare(struct store *st, const struct statement *q, sqlite3_stmt **ret, struct err *err)
{
	cleanup(buf_done) struct buf sql = { 0 };

	if (q->build)
		q->build(&sql);
	else
		expand(&sql, q);
	return db_prepare(st->db, sql.at, ret, err);
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

int statement_run_ints(struct store *st, const struct statement *q, const struct bind *binds,
                       size_t n, const int64_t *values, size_t n_values, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, q, err);

	if (!stmt)
		return -err->code;
	db_bind(stmt, binds, n);
	for (size_t i = 0; i < n_values; i++)
		bind_value(stmt, (int)(n + i) + 1, bind_or_null(values[i]));
	return db_run(stmt, err);
}

int statement_run(struct store *st, const struct statement *q, const struct bind *binds, size_t n,
                  struct err *err)
{
	return statement_run_ints(st, q, binds, n, NULL, 0, err);
}

int statement_run_readings(struct store *st, const struct statement *q, const struct bind *binds,
                           size_t n, uint64_t present, const uint64_t *value, struct err *err)
{
	struct column_set set = column_set(q->columns);
	int64_t values[ARRAY_LEN(set.id)];

	column_set_values(&set, present, value, values);
	return statement_run_ints(st, q, binds, n, values, set.n, err);
}

int64_t statement_int(struct store *st, const struct statement *q, const struct bind *binds,
                      size_t n, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, q, err);
	int64_t value = 0;
	int r;

	if (!stmt)
		return -err->code;
	db_bind(stmt, binds, n);
	r = db_step(stmt, err);
	if (r > 0)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return r < 0 ? r : value;
}

void statements_done(struct store *st)
{
	struct map_slot slot;
	size_t it = 0;

	while (map_next(&st->statements, &it, &slot))
		sqlite3_finalize((sqlite3_stmt *)(uintptr_t)slot.value);
	map_reset(&st->statements);
}
