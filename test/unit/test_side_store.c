/* SPDX-License-Identifier: MIT */
/* Two versions of the program at one store: neither stops the other from recording, and nothing that
 * either stored is lost. */
#include "sqlite/db_lock.h"
#include "model/pattern.h"
#include "store_kit.h"

#define TICKS 70

/* What a live recorder of an older version shows to others: a row without an end, and its byte of
 * write.lock. */
static struct db_lock begin_old_recorder(const char *dir)
{
	char *path = xasprintf("%s/write.lock", dir);
	struct db_lock lock = { .fd = -1 };
	struct err err = { 0 };

	run_sql(dir, "INSERT INTO recorder(id, kind, started) VALUES(77, 'daemon', 1790000000)");
	assert_int_equal(db_lock_open(&lock, path, &err), 0);
	assert_int_equal(db_lock_take(&lock, 77, 0), 0);
	free(path);
	return lock;
}

static struct store *open_store(const char *dir, char notice[static 1024])
{
	char *path = xasprintf("%s/proctor.db", dir);
	struct store_options o = { .path = path, .interval_ns = NS_PER_S };
	const char *notice_text = NULL;
	struct store *st = NULL;
	struct err err = { 0 };

	if (store_open(&o, &st, &notice_text, &err) < 0)
		fail_msg("%s", err.msg);
	snprintf(notice, 1024, "%s", notice_text ? notice_text : "");
	free(path);
	return st;
}

/* Some ticks of a machine with a job of this id, into whatever file the store chooses. */
static void record(const char *dir, const char *job_id, const char *expected_notice)
{
	char notice[1024];
	struct world w;
	struct store *st;

	world_init(&w, 51);
	world_add_job(&w, job_id);
	st = open_store(dir, notice);
	if (!strstr(notice, expected_notice) || (!*expected_notice && *notice))
		fail_msg("'%s'", notice);
	for (int i = 0; i < TICKS; i++)
		world_put(&w, st);
	store_close(st);
	world_done(&w);
}

struct counts {
	int64_t cells, events, rss_sum;
};

static struct counts count(const char *dir, const char *job_id)
{
	char *sql;
	struct counts c;

	sql = xasprintf("SELECT count(*) FROM process_metrics WHERE job_id = '%s'", job_id);
	c.cells = ask_int(dir, sql);
	free(sql);
	sql = xasprintf("SELECT CAST(sum(rss_mb * 1024) AS INTEGER) FROM process_metrics"
	                " WHERE job_id = '%s'",
	                job_id);
	c.rss_sum = ask_int(dir, sql);
	free(sql);
	sql = xasprintf("SELECT count(*) FROM process_events WHERE job_id = '%s'", job_id);
	c.events = ask_int(dir, sql);
	free(sql);
	return c;
}

static void assert_same_counts(struct counts a, struct counts b)
{
	assert_true(a.cells > TICKS && a.events > 0);
	assert_int_equal(a.cells, b.cells);
	assert_int_equal(a.rss_sum, b.rss_sum);
	assert_int_equal(a.events, b.events);
}

static void assert_gone(const char *dir)
{
	char *side = xasprintf("%s/side-v%d", dir, SCHEMA_VERSION);

	assert_int_not_equal(access(side, F_OK), 0);
	free(side);
}

static void test_side_store__is_used_while_an_older_recorder_is_alive(void **state)
{
	char *dir = world_dir(), *side = xasprintf("%s/side-v%d", dir, SCHEMA_VERSION);
	struct counts counts;
	struct db_lock old;

	(void)state;
	load_fixture(dir, "v4.sql");
	old = begin_old_recorder(dir);
	record(dir, "one", "in use by an older proctor");
	assert_int_equal(ask_int(dir, "PRAGMA user_version"), 4);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM recorder WHERE ended IS NULL"), 1);
	counts = count(side, "one");
	record(dir, "two", "in use by an older proctor");
	db_lock_close(&old); /* it ends, or dies */
	record(dir, "three", "");
	assert_int_equal(ask_int(dir, "PRAGMA user_version"), SCHEMA_VERSION);
	assert_gone(dir);
	assert_same_counts(counts, count(dir, "one"));
	assert_same_counts(counts, count(dir, "two"));
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM jobs"), 5); /* "build", "broken" */
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM recorder WHERE ended IS NULL"), 0);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM pragma_integrity_check"
	                              " WHERE integrity_check = 'ok'"),
	                 1);
	free(side);
	world_rmdir(dir);
}

/* A brief recorder opens the database first and adds its row later; migrated in between, the
 * database would seem damaged to it. */
static void test_side_store__is_used_while_the_older_store_is_open_elsewhere(void **state)
{
	char *dir = world_dir(), *path = xasprintf("%s/proctor.db", dir);
	struct err err = { 0 };
	int64_t jobs = 0;
	sqlite3 *other;

	(void)state;
	load_fixture(dir, "v4.sql");
	assert_int_equal(db_open(path, DB_WRITE, &other, &err), 0);
	assert_int_equal(sqlite3_exec(other, "PRAGMA journal_mode=WAL", NULL, NULL, NULL),
	                 SQLITE_OK);
	assert_int_equal(db_int(other, "SELECT count(*) FROM job", NULL, 0, &jobs, &err), 0);
	record(dir, "one", "in use by an older proctor");
	assert_int_equal(ask_int(dir, "PRAGMA user_version"), 4);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM job"), jobs);
	db_close(other);
	record(dir, "two", "");
	assert_int_equal(ask_int(dir, "PRAGMA user_version"), SCHEMA_VERSION);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM jobs"), jobs + 2);
	assert_gone(dir);
	free(path);
	world_rmdir(dir);
}

static void test_side_store__is_used_beside_a_newer_schema(void **state)
{
	char *dir = world_dir(), *side = xasprintf("%s/side-v%d", dir, SCHEMA_VERSION);
	char *sql = xasprintf("PRAGMA user_version=%d", SCHEMA_VERSION + 1);
	struct counts counts;

	(void)state;
	record(dir, "train", "");
	run_sql(dir, sql);
	record(dir, "train", "newer proctor");
	record(dir, "train.2", "newer proctor");
	assert_int_equal(ask_int(dir, "PRAGMA user_version"), SCHEMA_VERSION + 1);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM snapshot"), TICKS);
	counts = count(side, "train");
	free(sql);
	/* The newer one would import it; we can show it by going back. */
	sql = xasprintf("PRAGMA user_version=%d", SCHEMA_VERSION);
	run_sql(dir, sql);
	record(dir, "last", "");
	assert_gone(dir);
	/* The id was used in both files: the later one takes the next free name. */
	assert_same_counts(counts, count(dir, "train"));
	assert_same_counts(counts, count(dir, "train.2"));
	assert_same_counts(counts, count(dir, "train.3"));
	free(sql);
	free(side);
	world_rmdir(dir);
}

static void test_side_store__is_left_alone_while_it_is_recorded_into(void **state)
{
	char *dir = world_dir(), notice[1024], sql[40];
	struct store *st;
	struct world w;

	(void)state;
	record(dir, "train", "");
	run_sql(dir, "PRAGMA user_version=99");
	world_init(&w, 52);
	world_add_job(&w, "long");
	st = open_store(dir, notice);
	assert_non_null(strstr(notice, "newer proctor"));
	world_put(&w, st);
	snprintf(sql, sizeof sql, "PRAGMA user_version=%d", SCHEMA_VERSION);
	run_sql(dir, sql);
	record(dir, "other", "");
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM jobs"), 2);
	world_put(&w, st);
	store_close(st);
	record(dir, "third", "");
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM jobs"), 4);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM snapshots"), 3 * TICKS + 2);
	assert_gone(dir);
	world_done(&w);
	world_rmdir(dir);
}

static bool names_table(const struct store_table *t, const char *name)
{
	for (const struct table_ids *i = t->ids; i && i->table; i++)
		if (!strcmp(i->table, name))
			return true;
	for (const struct table_import *i = t->imports; i && i->table; i++)
		if (!strcmp(i->table, name))
			return true;
	return false;
}

static bool is_imported(const char *name)
{
	for (size_t i = 0; i < store_table_count; i++)
		if (names_table(store_tables[i], name))
			return true;
	return false;
}

/* The side file is removed afterwards: what is forgotten here is lost. */
static void test_side_store__imports_every_table(void **state)
{
	char *dir = world_dir(), *path = xasprintf("%s/proctor.db", dir), notice[1024];
	sqlite3_stmt *stmt = NULL;
	struct err err = { 0 };
	sqlite3 *db;

	(void)state;
	store_close(open_store(dir, notice));
	assert_int_equal(db_open(path, DB_READ, &db, &err), 0);
	assert_int_equal(db_prepare(db,
	                            "SELECT name FROM sqlite_schema WHERE type = 'table'"
	                            " AND name NOT LIKE 'sqlite_%'"
	                            " AND name <> 'meta'",
	                            &stmt, &err),
	                 0);
	while (db_step(stmt, &err) > 0)
		if (!is_imported((const char *)sqlite3_column_text(stmt, 0)))
			fail_msg("'%s' is lost", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	db_close(db);
	free(path);
	world_rmdir(dir);
}

static void put_findings(const char *dir, const char *description, uint64_t last_seen_ns,
                         const char *run_id)
{
	struct pattern p = {
		.uid = 7, .confidence = 0.5, .support = 9, .last_seen_ns = last_seen_ns
	};
	struct past_run run = { .started_ns = NS_PER_S, .took_ns = NS_PER_S, .peak_bytes = 1 };
	struct store *st;
	char notice[1024];
	struct err err = { 0 };
	uint64_t n;

	snprintf(p.job_type, sizeof p.job_type, "train");
	snprintf(p.description, sizeof p.description, "%s", description);
	snprintf(run.type, sizeof run.type, "train");
	snprintf(run.id, sizeof run.id, "%s", run_id);
	st = open_store(dir, notice);
	assert_int_equal(store_update_patterns(st, &p, 1, &err), 0);
	assert_int_equal(store_import_runs(st, &run, 1, 7, &n, &err), 0);
	store_close(st);
}

static void set_version(const char *dir, int version)
{
	cleanup(freep) char *sql = xasprintf("PRAGMA user_version = %d", version);

	run_sql(dir, sql);
}

/* The older version has the same tables. */
static void test_side_store__imports_patterns_and_imported_runs(void **state)
{
	char *dir = world_dir(), notice[1024];
	struct db_lock old;

	(void)state;
	put_findings(dir, "earlier", 5 * NS_PER_S, "a");
	set_version(dir, SCHEMA_VERSION - 1);
	old = begin_old_recorder(dir);
	put_findings(dir, "later", 6 * NS_PER_S, "b");
	put_findings(dir, "later", 6 * NS_PER_S, "a");
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM imported_run"), 1);
	db_lock_close(&old);
	set_version(dir, SCHEMA_VERSION);
	store_close(open_store(dir, notice));
	assert_gone(dir);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM patterns WHERE description = 'later'"
	                              " AND last_seen = 6"),
	                 1);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM patterns"), 1);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM imported_runs"), 2);
	world_rmdir(dir);
}

RUN_TESTS(TEST(test_side_store__imports_every_table),
          TEST(test_side_store__imports_patterns_and_imported_runs),
          TEST(test_side_store__is_used_while_an_older_recorder_is_alive),
          TEST(test_side_store__is_used_while_the_older_store_is_open_elsewhere),
          TEST(test_side_store__is_used_beside_a_newer_schema),
          TEST(test_side_store__is_left_alone_while_it_is_recorded_into))
