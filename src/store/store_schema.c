/* SPDX-License-Identifier: MIT */
#include "store/store_schema.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/fresh_schema.h"
#include "store/store_table.h"

#define STAMP_MAX 64

static const char make_meta[] = "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID";

int store_schema_add_column(sqlite3 *db, const char *table, const char *column, const char *suffix,
                            struct err *err)
{
	char name[COLUMN_NAME_MAX + 8], sql[256];

	snprintf(name, sizeof name, "%s%s", column, suffix);
	if (db_has_column(db, table, name))
		return 0;
	snprintf(sql, sizeof sql, "ALTER TABLE %s ADD COLUMN %s INTEGER", table, name);
	return db_exec(db, sql, err);
}

static int add_metrics(sqlite3 *db, const struct metric_columns *m, struct err *err)
{
	struct column_set set = column_set(m->columns);
	int r = 0;

	for (size_t i = 0; r == 0 && i < set.n; i++) {
		char name[COLUMN_NAME_MAX];

		column_name(&set.metrics[set.id[i]], name);
		r = store_schema_add_column(db, m->table, name, m->suffix, err);
	}
	return r;
}

static int add_columns(sqlite3 *db, const struct store_table *table, struct err *err)
{
	int r = table->add_columns ? table->add_columns(db, err) : 0;

	for (const struct metric_columns *m = table->metrics; r == 0 && m && m->table; m++)
		r = add_metrics(db, m, err);
	return r;
}

static int sync_view(sqlite3 *db, const struct view *view, struct err *err)
{
	cleanup(buf_done) struct buf sql = { 0 };
	int64_t is_current;
	char drop[96];
	int r;

	view->put(&sql);
	r = db_int(db, "SELECT sql = ?2 FROM sqlite_schema WHERE name = ?1",
	           BINDS(bind_str(view->name), bind_text(sql.at, sql.len)), &is_current, err);
	if (r < 0 || is_current)
		return r;
	snprintf(drop, sizeof drop, "DROP VIEW IF EXISTS %s", view->name);
	r = db_exec(db, drop, err);
	return r < 0 ? r : db_exec(db, sql.at, err);
}

static const struct table_stat *next_stat(size_t *table, size_t *at)
{
	for (; *table < store_table_count; (*table)++, *at = 0) {
		const struct table_stat *stats = store_tables[*table]->stats;

		if (stats && stats[*at].table)
			return &stats[(*at)++];
	}
	return NULL;
}

static int stats_are_ours(sqlite3 *db, struct err *err)
{
	const struct table_stat *s;
	int64_t expected = 0, found = 0, all = 0;
	size_t table = 0, at = 0;
	int r;

	if (!db_has_column(db, "sqlite_stat1", "stat"))
		return 0;
	r = db_int(db, "SELECT count(*) FROM sqlite_stat1", NULL, 0, &all, err);
	while (r == 0 && (s = next_stat(&table, &at))) {
		int64_t n = 0;

		r = db_int(db,
		           "SELECT count(*) FROM sqlite_stat1 WHERE tbl = ?1 AND idx IS ?2"
		           " AND stat = ?3",
		           BINDS(bind_str(s->table), bind_str(s->index), bind_str(s->stat)), &n,
		           err);
		found += n;
		expected++;
	}
	return r < 0 ? r : found == expected && all == found;
}

static int sync_stats(sqlite3 *db, struct err *err)
{
	const struct table_stat *s;
	size_t table = 0, at = 0;
	int r = stats_are_ours(db, err);

	if (r != 0)
		return MIN(r, 0);
	r = db_exec(db, "ANALYZE sqlite_schema; DELETE FROM sqlite_stat1", err);
	while (r == 0 && (s = next_stat(&table, &at)))
		r = db_do(db, "INSERT INTO sqlite_stat1 VALUES(?1, ?2, ?3)",
		          BINDS(bind_str(s->table), bind_str(s->index), bind_str(s->stat)), err);
	return r < 0 ? r : db_exec(db, "ANALYZE sqlite_schema", err);
}

/* Runs the migrations of all tables that lead to this version; NULL is nothing to run. */
static int run_migrations(sqlite3 *db, int64_t version, bool after, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < store_table_count; i++) {
		const struct migration *m = store_tables[i]->migrations;

		for (; r == 0 && m && m->version; m++) {
			const char *sql = after ? m->after : m->sql;

			if (m->version != version)
				continue;
			if (sql)
				r = db_exec(db, sql, err);
			if (r == 0 && m->run && !after)
				r = m->run(db, err);
		}
	}
	return r;
}

static int set_version(sqlite3 *db, struct err *err)
{
	char pragma[96];

	snprintf(pragma, sizeof pragma, "PRAGMA user_version=%d; PRAGMA application_id=%d",
	         SCHEMA_VERSION, SCHEMA_APPLICATION_ID);
	return db_exec(db, pragma, err);
}

static int migrate(sqlite3 *db, int64_t from, struct err *err)
{
	int r = from ? 0 : db_exec(db, make_meta, err);

	/* Views are made anew below; those of other programs must not stop a migration. */
	if (r == 0 && from < SCHEMA_VERSION)
		r = db_exec(db, "PRAGMA legacy_alter_table=1", err);
	for (int64_t version = from + 1; r == 0 && version <= SCHEMA_VERSION; version++)
		r = run_migrations(db, version, false, err);
	for (size_t i = 0; r == 0 && i < store_table_count; i++)
		r = add_columns(db, store_tables[i], err);
	for (int64_t version = from + 1; r == 0 && version <= SCHEMA_VERSION; version++)
		r = run_migrations(db, version, true, err);
	if (r == 0 && from < SCHEMA_VERSION)
		r = set_version(db, err);
	for (size_t i = 0; i < store_table_count; i++)
		for (const struct view *v = store_tables[i]->views; r == 0 && v && v->name; v++)
			r = sync_view(db, v, err);
	return r;
}

static int make_fresh(sqlite3 *db, struct err *err)
{
	int r = db_exec(db, fresh_schema, err);

	return r < 0 ? r : set_version(db, err);
}

/* With SQLite's own counter, which changes with every change of the schema. */
static int make_stamp(sqlite3 *db, char to[STAMP_MAX], struct err *err)
{
	int64_t cookie;
	int r = db_int(db, "PRAGMA schema_version", NULL, 0, &cookie, err);

	if (r == 0)
		snprintf(to, STAMP_MAX, "%s %lld", fresh_schema_stamp, (long long)cookie);
	return r;
}

/* 1 when the schema is up to date. */
static int has_stamp(sqlite3 *db, struct err *err)
{
	char stamp[STAMP_MAX];
	int64_t version, is_same = 0;
	int r = db_int(db, "PRAGMA user_version", NULL, 0, &version, err);

	if (r < 0 || version != SCHEMA_VERSION)
		return r;
	r = make_stamp(db, stamp, err);
	if (r == 0)
		r = db_int(db, "SELECT value = ?1 FROM meta WHERE key = 'schema'",
		           BINDS(bind_text(stamp, sizeof stamp)), &is_same, err);
	return r < 0 ? r : (int)is_same;
}

static int set_stamp(sqlite3 *db, struct err *err)
{
	char stamp[STAMP_MAX];
	int r = make_stamp(db, stamp, err);

	return r < 0 ? r
	             : db_do(db, "INSERT OR REPLACE INTO meta VALUES('schema', ?1)",
	                     BINDS(bind_text(stamp, sizeof stamp)), err);
}

static int apply(sqlite3 *db, struct err *err)
{
	int64_t from = 0;
	int r = db_int(db, "PRAGMA user_version", NULL, 0, &from, err);

	if (r == 0 && from > SCHEMA_VERSION)
		r = err_set(err, EPROTONOSUPPORT,
		            "'%s' has schema version %lld, this proctor knows %d",
		            sqlite3_db_filename(db, "main"), (long long)from, SCHEMA_VERSION);
	if (r == 0)
		r = from == 0 && *fresh_schema ? make_fresh(db, err) : migrate(db, from, err);
	if (r == 0)
		r = sync_stats(db, err);
	return r < 0 ? r : set_stamp(db, err);
}

int store_schema_apply(sqlite3 *db, bool thorough, struct err *err)
{
	int r = has_stamp(db, err);

	if (r > 0 && thorough)
		r = stats_are_ours(db, err);
	if (r != 0)
		return MIN(r, 0);
	r = db_exec(db, "BEGIN IMMEDIATE", err);
	if (r < 0)
		return r;
	r = apply(db, err);
	if (r == 0)
		r = db_exec(db, "COMMIT", err);
	if (r < 0)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}
