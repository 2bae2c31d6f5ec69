/* SPDX-License-Identifier: MIT */
#include "history/sql_query.h"

#include <errno.h>

#include "store_kit.h"

struct answer {
	char columns[256];
	char first[256]; /* the first row */
	size_t rows;
	size_t stop_at;
};

static int on_columns(void *self, const char *const *names, size_t n)
{
	struct answer *a = self;
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(a->columns + len, sizeof a->columns - len, "%s%s",
		                        i ? "|" : "", names[i]);
	return 0;
}

static int on_row(void *self, const struct sql_value *v, size_t n)
{
	struct answer *a = self;
	size_t len = 0;

	for (size_t i = 0; !a->rows && i < n; i++) {
		char *to = a->first + len;
		size_t room = sizeof a->first - len;

		if (i)
			len += (size_t)snprintf(to, room, "|"), to++, room--;
		if (v[i].type == SQL_NULL)
			len += (size_t)snprintf(to, room, "NULL");
		else if (v[i].type == SQL_INTEGER)
			len += (size_t)snprintf(to, room, "%lld", (long long)v[i].integer);
		else if (v[i].type == SQL_REAL)
			len += (size_t)snprintf(to, room, "%g", v[i].real);
		else
			len += (size_t)snprintf(to, room, "%.*s", (int)v[i].n, v[i].text);
	}
	a->rows++;
	return a->rows == a->stop_at ? -ECANCELED : 0;
}

static int ask(const char *dir, const char *text, struct answer *a, struct err *err)
{
	struct sql_sink sink = { a, on_columns, on_row };
	char *path = xasprintf("%s/proctor.db", dir);
	int r;

	memset(a->columns, 0, sizeof a->columns);
	a->rows = 0;
	r = sql_query_run(path, text, 300 * NS_PER_MS, &sink, err);
	free(path);
	return r;
}

static char *make_store(void)
{
	char *dir = world_dir();
	struct world w;
	struct store *st;

	world_init(&w, 31);
	st = world_open(&w, dir);
	for (int i = 0; i < 20; i++)
		world_put(&w, st);
	store_close(st);
	world_done(&w);
	return dir;
}

static void test_sql_ask__answers(void **state)
{
	struct answer a = { 0 };
	struct err err = { 0 };
	char *dir = make_store();

	(void)state;
	assert_int_equal(
		ask(dir, "SELECT 1 AS one, 'two' AS two, 2.5 AS x, NULL AS n; -- done ", &a, &err),
		0);
	assert_string_equal(a.columns, "one|two|x|n");
	assert_string_equal(a.first, "1|two|2.5|NULL");
	assert_int_equal(ask(dir, "SELECT count(*) FROM snapshots", &a, &err), 0);
	assert_string_equal(a.first, "20");
	assert_int_equal(ask(dir, "SELECT * FROM process_metrics WHERE snapshot_id = 5", &a, &err),
	                 0);
	assert_true(a.rows > 3);
	assert_int_equal(ask(dir, "PRAGMA table_info(snapshots)", &a, &err), 0);
	assert_int_equal(a.rows, 21);
	assert_int_equal(ask(dir, "PRAGMA quick_check", &a, &err), 0);
	assert_string_equal(a.first, "ok");
	a.stop_at = 2;
	assert_int_equal(ask(dir, "SELECT * FROM snapshots", &a, &err), -ECANCELED);
	assert_int_equal(a.rows, 2);
	world_rmdir(dir);
}

static void test_sql_ask__refuses_all_but_questions(void **state)
{
	static const char *const texts[] = {
		"",
		";",
		"-- nothing",
		"SELEC 1",
		"SELECT * FROM nothing",
		"SELECT 1; SELECT 2",
		"SELECT 1; DROP TABLE snapshot",
		"DELETE FROM snapshot",
		"INSERT INTO meta VALUES(1, 2)",
		"UPDATE snapshot SET at = 1",
		"CREATE TABLE t(a)",
		"CREATE TEMP TABLE t(a)",
		"DROP VIEW snapshots",
		"VACUUM",
		"VACUUM INTO '/tmp/proctor-test-stolen.db'",
		"REINDEX",
		"ANALYZE",
		"ATTACH '/tmp/proctor-test-other.db' AS other",
		"DETACH main",
		"BEGIN",
		"COMMIT",
		"PRAGMA user_version = 7",
		"PRAGMA journal_mode = DELETE",
		"PRAGMA query_only = 0",
		"PRAGMA writable_schema = 1",
		"PRAGMA wal_checkpoint(TRUNCATE)",
		"PRAGMA incremental_vacuum(10)",
		"PRAGMA temp_store_directory = '/tmp'",
		"SELECT load_extension('/tmp/x.so')",
		"WITH d AS (SELECT 1) DELETE FROM snapshot",
		"EXPLAIN DELETE FROM snapshot",
	};
	struct answer a = { 0 };
	struct err err = { 0 };
	char *dir = make_store();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		int r = ask(dir, texts[i], &a, &err);

		if (r != -EINVAL)
			fail_msg("%s: %d", texts[i], r);
		assert_true(err.msg[0]);
	}
	assert_int_equal(ask(dir, "SELECT count(*) FROM snapshots", &a, &err), 0);
	assert_string_equal(a.first, "20");
	assert_int_not_equal(access("/tmp/proctor-test-stolen.db", F_OK), 0);
	assert_int_not_equal(access("/tmp/proctor-test-other.db", F_OK), 0);
	world_rmdir(dir);
}

static void test_sql_ask__ends_what_takes_too_long(void **state)
{
	struct answer a = { 0 };
	struct err err = { 0 };
	char *dir = make_store();
	uint64_t from = clock_mono_ns();

	(void)state;
	assert_int_equal(ask(dir,
	                     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
	                     " SELECT count(*) FROM n",
	                     &a, &err),
	                 -ETIME);
	assert_true(clock_mono_ns() - from < 20 * NS_PER_S);
	assert_int_equal(ask("/nonexistent", "SELECT 1", &a, &err), -ENOENT);
	world_rmdir(dir);
}

RUN_TESTS(TEST(test_sql_ask__answers), TEST(test_sql_ask__refuses_all_but_questions),
          TEST(test_sql_ask__ends_what_takes_too_long))
