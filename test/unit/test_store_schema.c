/* SPDX-License-Identifier: MIT */
/* Stores of every older version are read as they are, and migrated by the next recorder. */
#include "base/io.h"
#include "store/fresh_schema.h"
#include "store_kit.h"

/* The first version with a store of its own. */
#define FIRST_FIXTURE 4

/* What versions 3 and 2 did not have yet. */
static void take_back(const char *dir, int version)
{
	if (version < 4)
		run_sql(dir, "DROP VIEW anomalies; DROP TABLE anomaly; PRAGMA user_version=3");
	if (version < 3)
		run_sql(dir, "DROP VIEW gpu_metrics; DROP VIEW gpu_processes; DROP VIEW snapshots;"
		             "DROP TABLE gpu; DROP TABLE gpu_range; DROP TABLE gpu_use;"
		             "DROP TABLE gpu_device; PRAGMA user_version=2");
}

static int count_process(void *self, const struct process_record *p)
{
	(void)p;
	(*(size_t *)self)++;
	return 0;
}

static int count_sheet(void *self, const struct sheet_record *s)
{
	*(size_t *)self += s->use.processes;
	return 0;
}

static int count_event(void *self, const struct event_record *e)
{
	*(size_t *)self += e->kind == EVENT_MARK;
	return 0;
}

static void assert_jobs_are_whole(const char *dir)
{
	struct history *r = open_reader(dir);
	size_t processes = 0, in_sheets = 0, marks = 0;
	struct history_cursor at = { 0 };
	struct job_profile profile = { 0 };
	struct err err = { 0 };
	struct job job;

	assert_int_equal(history_get_job(r, KEY("broken"), &job, &err), 0);
	assert_int_equal(job.exit_code, 3);
	assert_int_equal(history_get_job(r, KEY("build"), &job, &err), 0);
	assert_int_equal(job.status, JOB_COMPLETED);
	assert_int_equal(
		history_job_processes(r, KEY("build"), 99, count_process, &processes, &err), 7);
	assert_int_equal(processes, 7);
	assert_int_equal(history_sheets(r, KEY("build"), count_sheet, &in_sheets, &err), 2);
	assert_true(in_sheets >= 2);
	assert_true(history_job_events(r, KEY("build"), &at, 0, 999, count_event, &marks, &err) >
	            7);
	assert_int_equal(marks, 1);
	assert_int_equal(history_profile(r, KEY("build"), &profile, &err), 0);
	assert_int_equal(profile.spawns.value, 7);
	history_record_profile_done(&profile);
	history_close(r);
}

static void migrate(const char *dir)
{
	struct world w;

	world_init(&w, 1);
	store_close(world_open(&w, dir));
	world_done(&w);
}

static void load_version(const char *dir, int version)
{
	cleanup(freep) char *name = xasprintf("v%d.sql", MAX(version, FIRST_FIXTURE));

	load_fixture(dir, name);
	take_back(dir, version);
}

static void test_store_schema__brings_every_version_up_to_date(void **state)
{
	(void)state;
	for (int version = 2; version < SCHEMA_VERSION; version++) {
		char *dir = world_dir();

		load_version(dir, version);
		run_sql(dir, "UPDATE job SET parent = 'outer' WHERE job_id = 'build'");
		assert_jobs_are_whole(dir);
		migrate(dir);
		assert_int_equal(ask_int(dir, "PRAGMA user_version"), SCHEMA_VERSION);
		assert_jobs_are_whole(dir);
		assert_int_equal(ask_int(dir, "SELECT count(*) FROM jobs WHERE parent = 'outer'"
		                              " AND parent_uid = uid AND recorded_as IS NULL"),
		                 1);
		assert_int_equal(ask_int(dir,
		                         "SELECT count(*) FROM process p JOIN job j ON j.id = p.job"
		                         " WHERE j.job_id = 'build' AND j.uid = 0"),
		                 7);
		assert_int_equal(ask_int(dir, "SELECT count(*) FROM process_events"
		                              " WHERE job_id = 'build' AND uid = 0"
		                              " AND event_type = 'spawn'"),
		                 7);
		assert_int_equal(ask_int(dir, "SELECT count(*) FROM pragma_integrity_check"
		                              " WHERE integrity_check = 'ok'"),
		                 1);
		world_rmdir(dir);
	}
}

/* SQLite would refuse to drop a column that a view names; whoever made that view must not lose the
 * whole history for it. */
static void test_store_schema__is_not_stopped_by_the_views_of_others(void **state)
{
	char *dir = world_dir();

	(void)state;
	load_fixture(dir, "v4.sql");
	run_sql(dir, "CREATE VIEW mine AS SELECT job_id, count(*) FROM process GROUP BY job_id");
	migrate(dir);
	assert_jobs_are_whole(dir);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM sqlite_schema WHERE name = 'mine'"), 1);
	world_rmdir(dir);
}

/* A recorder of version 4 that was killed could leave processes whose job had no row. */
static void test_store_schema__gives_a_row_to_jobs_that_have_none(void **state)
{
	char *dir = world_dir();
	struct job job;

	(void)state;
	load_fixture(dir, "v4.sql");
	run_sql(dir, "DELETE FROM job WHERE job_id = 'broken'");
	migrate(dir);
	job = find_job(dir, "broken");
	assert_int_equal(job.status, JOB_LOST);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM process p JOIN job j ON j.id = p.job"
	                              " WHERE j.job_id = 'broken'"),
	                 2);
	world_rmdir(dir);
}

/* The columns of all tables of one store that the other lacks. But for a figure that was given up: its columns stay,
 * because views of others may name them. */
static int count_missing(const char *dir, const char *other)
{
	static const char columns[] =
		"SELECT count(*) FROM (SELECT m.name, c.name FROM a.sqlite_schema m,"
		" pragma_table_xinfo(m.name, 'a') c WHERE m.type = 'table'"
		" AND c.name NOT LIKE 'peak_total_%' EXCEPT"
		" SELECT m.name, c.name FROM b.sqlite_schema m, pragma_table_xinfo(m.name, 'b') c"
		" WHERE m.type = 'table')";
	cleanup(freep) char *sql = xasprintf(
		"ATTACH '%s/proctor.db' AS a; ATTACH '%s/proctor.db' AS b", dir, other);
	sqlite3 *db = NULL;
	sqlite3_stmt *stmt = NULL;
	int n;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, columns, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	n = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

static void test_store_schema__is_the_same_from_scratch_and_from_every_version(void **state)
{
	char *fresh = world_dir();

	(void)state;
	migrate(fresh);
	for (int version = FIRST_FIXTURE; version < SCHEMA_VERSION; version++) {
		char *migrated = world_dir();

		load_version(migrated, version);
		migrate(migrated);
		assert_int_equal(count_missing(fresh, migrated), 0);
		assert_int_equal(count_missing(migrated, fresh), 0);
		world_rmdir(migrated);
	}
	world_rmdir(fresh);
}

static void test_store_schema__is_documented_up_to_this_version(void **state)
{
	const char *source = getenv("PROCTOR_SOURCE_DIR");
	cleanup(freep) char *path = xasprintf("%s/docs/store.md", source ? source : ".");
	cleanup(buf_done) struct buf text = { 0 };
	struct err err = { 0 };

	(void)state;
	if (load_file(AT_FDCWD, path, &text, &err) < 0)
		fail_msg("%s", err.msg);
	for (int version = 1; version <= SCHEMA_VERSION; version++) {
		cleanup(freep) char *row = xasprintf("\n| %d | ", version);

		if (!strstr(text.at, row))
			fail_msg("the table of versions has no row of %d", version);
	}
}

static void test_store_schema__is_stamped_by_what_the_migrations_lead_to(void **state)
{
	char *dir = world_dir();
	cleanup(freep) char *sql = xasprintf("SELECT count(*) FROM meta WHERE key = 'schema'"
	                                     " AND value LIKE '%s %%'",
	                                     fresh_schema_stamp);

	(void)state;
	assert_int_equal(strlen(fresh_schema_stamp), 16);
	migrate(dir);
	assert_int_equal(ask_int(dir, sql), 1);
	run_sql(dir, "UPDATE meta SET value = '0123456789abcdef 1' WHERE key = 'schema'");
	migrate(dir);
	assert_int_equal(ask_int(dir, sql), 1);
	world_rmdir(dir);
}

RUN_TESTS(TEST(test_store_schema__is_stamped_by_what_the_migrations_lead_to),
          TEST(test_store_schema__is_documented_up_to_this_version),
          TEST(test_store_schema__brings_every_version_up_to_date),
          TEST(test_store_schema__is_not_stopped_by_the_views_of_others),
          TEST(test_store_schema__gives_a_row_to_jobs_that_have_none),
          TEST(test_store_schema__is_the_same_from_scratch_and_from_every_version))
