/* SPDX-License-Identifier: MIT */
#include "schema/keyframe_content.h"

#include <errno.h>
#include <string.h>

#include "schema/schema_format.h"

#define ROWS_MAX ((size_t)1 << 22)

/* ", b.rss_kib"; a metric that is younger than the database has no column there. */
static void append_columns(sqlite3 *db, struct buf *sql, const char *table, const char *prefix,
                           enum column_group group)
{
	struct column_set set = column_set(group);

	for (size_t i = 0; i < set.n; i++) {
		char name[COLUMN_NAME_MAX];

		column_name(&set.metrics[set.id[i]], name);
		if (db_has_column(db, table, name))
			buf_printf(sql, ", %s%s", prefix, name);
		else
			buf_puts(sql, ", NULL");
	}
}

/* Before version 6 the sheet was known of the process alone. */
static bool has_sheets(sqlite3 *db)
{
	return db_has_column(db, "sample_base", "sheet");
}

static int load_keyframe(sqlite3 *db, int64_t keyframe, struct keyframe_content *kf,
                         struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_query(db,
	                 "SELECT k.recorder, s.id, s.at, s.time, k.last IS NOT NULL"
	                 " AND k.resolution IS NULL FROM keyframe k JOIN snapshot s"
	                 " ON s.id BETWEEN k.first AND coalesce(k.last, 9223372036854775807)"
	                 " AND s.kf = k.id WHERE k.id = ?1 ORDER BY s.id",
	                 BINDS(bind_int(keyframe)), &stmt, err);

	if (r < 0)
		return r;
	while ((r = db_step(stmt, err)) > 0) {
		struct keyframe_content_moment *m = vec_push(&kf->moments, ROWS_MAX);

		if (!m)
			return err_set(err, EUCLEAN, "a keyframe with too many snapshots");
		kf->recorder = sqlite3_column_int64(stmt, 0);
		m->snapshot = sqlite3_column_int64(stmt, 1);
		m->at = sqlite3_column_int64(stmt, 2);
		m->time = sqlite3_column_double(stmt, 3);
		kf->has_ended = sqlite3_column_int(stmt, 4) != 0;
	}
	if (r == 0 && !kf->moments.len)
		return err_set(err, ENOENT, "no keyframe %lld", (long long)keyframe);
	return r;
}

static int load_rows(sqlite3 *db, struct keyframe_content *kf, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int r;

	buf_printf(&sql, "SELECT b.id - ?1, b.proc, p.first, p.last, b.state, %s, b.cpu",
	           has_sheets(db) ? "b.sheet" : "NULL");
	append_columns(db, &sql, "sample_base", "b.", COLUMNS_CELLS);
	buf_puts(&sql, " FROM sample_base b CROSS JOIN process p ON p.id = b.proc"
	               " WHERE b.id BETWEEN ?1 AND ?2 ORDER BY b.id");
	r = db_query(db, sql.at,
	             BINDS(bind_int(kf->keyframe), bind_int(kf->keyframe + SCHEMA_SLOTS - 1)),
	             &stmt, err);
	if (r < 0)
		return r;
	while ((r = db_step(stmt, err)) > 0) {
		struct keyframe_content_row *row = vec_push(&kf->rows, ROWS_MAX);

		if (!row)
			return err_set(err, EUCLEAN, "a keyframe with too many processes");
		row->slot = sqlite3_column_int64(stmt, 0);
		row->proc = sqlite3_column_int64(stmt, 1);
		row->first = sqlite3_column_int64(stmt, 2);
		row->last = db_column_or_absent(stmt, 3);
		if (row->last < 0)
			row->last = INT64_MAX;
		for (int i = 0; i < CELL_COUNT; i++)
			row->cell[i] = db_column_or_absent(stmt, 4 + i);
	}
	return r;
}

/* Appends what a table holds of a row at one snapshot; false when there is no room. */
typedef bool append_fn(struct keyframe_content *kf, struct keyframe_content_row *row, int64_t at,
                       sqlite3_stmt *stmt);

/* Both the table and the rows here are in the order of slots: one walk pairs them. `columns` begins
 * with the id. */
static int walk(sqlite3 *db, struct keyframe_content *kf, const char *columns, const char *table,
                enum column_group group, append_fn *append, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	struct keyframe_content_row *row = kf->rows.at, *end = kf->rows.at + kf->rows.len;
	int r;

	buf_printf(&sql, "SELECT %s", columns);
	append_columns(db, &sql, table, "", group);
	buf_printf(&sql, " FROM %s WHERE id BETWEEN ?1 AND ?2 ORDER BY id", table);
	r = db_query(db, sql.at,
	             BINDS(bind_int(kf->keyframe << SCHEMA_AT_BITS),
	                   bind_int(((kf->keyframe + SCHEMA_SLOTS) << SCHEMA_AT_BITS) - 1)),
	             &stmt, err);
	if (r < 0)
		return r;
	while ((r = db_step(stmt, err)) > 0) {
		int64_t id = sqlite3_column_int64(stmt, 0);
		int64_t slot = (id >> SCHEMA_AT_BITS) - kf->keyframe;

		while (row < end && row->slot < slot)
			row++;
		if (row == end || row->slot != slot)
			return err_set(err, EUCLEAN, "%s: a process that has no row", table);
		if (!append(kf, row, id & (SCHEMA_ATS - 1), stmt))
			return err_set(err, EUCLEAN, "%s: too many rows of a keyframe", table);
	}
	return r;
}

static bool append_change(struct keyframe_content *kf, struct keyframe_content_row *row, int64_t at,
                          sqlite3_stmt *stmt)
{
	struct keyframe_content_change *c = vec_push(&kf->changes, ROWS_MAX);

	if (!c)
		return false;
	if (!row->changes_len++)
		row->changes_at = kf->changes.len - 1;
	c->at = at;
	for (int i = 0; i < CELL_COUNT; i++)
		c->cell[i] = sqlite3_column_type(stmt, 1 + i) == SQLITE_NULL
		                     ? row->cell[i]
		                     : sqlite3_column_int64(stmt, 1 + i);
	return true;
}

static bool append_detail(struct keyframe_content *kf, struct keyframe_content_row *row, int64_t at,
                          sqlite3_stmt *stmt)
{
	struct keyframe_content_detail *d = vec_push(&kf->details, ROWS_MAX);

	if (!d)
		return false;
	if (!row->details_len++)
		row->details_at = kf->details.len - 1;
	d->at = at;
	for (int i = 0; i < (int)DETAIL_METRICS; i++)
		d->value[i] = db_column_or_absent(stmt, 1 + i);
	return true;
}

int keyframe_content_load(sqlite3 *db, int64_t keyframe, struct keyframe_content *ret,
                          struct err *err)
{
	int r;

	vec_reset(&ret->rows);
	vec_reset(&ret->changes);
	vec_reset(&ret->details);
	vec_reset(&ret->moments);
	ret->keyframe = keyframe;
	r = load_keyframe(db, keyframe, ret, err);
	if (r == 0)
		r = load_rows(db, ret, err);
	if (r == 0)
		r = walk(db, ret, has_sheets(db) ? "id, state, sheet, cpu" : "id, state, NULL, cpu",
		         "sample_change", COLUMNS_CELLS, append_change, err);
	return r < 0 ? r
	             : walk(db, ret, "id", "sample_detail", COLUMNS_DETAILS, append_detail, err);
}

void keyframe_content_done(struct keyframe_content *kf)
{
	vec_done(&kf->rows);
	vec_done(&kf->changes);
	vec_done(&kf->details);
	vec_done(&kf->moments);
}

const int64_t *keyframe_content_cells(const struct keyframe_content *kf,
                                      const struct keyframe_content_row *row, int64_t at)
{
	const struct keyframe_content_change *changes;
	size_t low = 0, high = row->changes_len;

	if (!high)
		return row->cell;
	changes = kf->changes.at + row->changes_at;
	while (low < high) { /* the first change after `at` */
		size_t mid = low + (high - low) / 2;

		if (changes[mid].at <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? changes[low - 1].cell : row->cell;
}

const struct keyframe_content_detail *keyframe_content_details(
	const struct keyframe_content *kf, const struct keyframe_content_row *row, int64_t at)
{
	const struct keyframe_content_detail *details;
	size_t n = row->details_len;

	if (!n)
		return NULL;
	details = kf->details.at + row->details_at;
	while (n && details[n - 1].at > at)
		n--;
	return n ? &details[n - 1] : NULL;
}
