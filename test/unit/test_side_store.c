/* SPDX-License-Identifier: MIT */
/* Two versions of the program at one store: neither stops the other from recording, and nothing that
 * either stored is lost. */
#include "sqlite/db_lock.h"
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

RUN_TESTS(TEST(test_side_store__is_used_while_an_older_recorder_is_alive),
          TEST(test_side_store__is_used_while_the_older_store_is_open_elsewhere),
          TEST(test_side_store__is_used_beside_a_newer_schema),
          TEST(test_side_store__is_left_alone_while_it_is_recorded_into))
