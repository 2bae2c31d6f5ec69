/* SPDX-License-Identifier: MIT */
/* A crowd of processes comes and goes: the store gives its memory back, and what it writes of those
 * that stay is right before and after. */
#include <sqlite3.h>

#include "store/store_handle.h"
#include "store_kit.h"

#define CROWD 3000
#define CROWD_PID 20000

struct fixture {
	struct world world;
	struct store *store;
	char *dir;
};

static int fixture_open(void **state)
{
	struct fixture *s = xcalloc(1, sizeof *s);

	world_init(&s->world, 11);
	s->dir = world_dir();
	s->store = world_open(&s->world, s->dir);
	*state = s;
	return 0;
}

static int fixture_close(void **state)
{
	struct fixture *s = *state;

	store_close(s->store);
	world_rmdir(s->dir);
	world_done(&s->world);
	free(s);
	return 0;
}

/* A snapshot of the world with every `step`th of the crowd's processes; their memory identifies the
 * snapshot and the process. */
static int64_t put_with_crowd(struct fixture *s, int step)
{
	struct err err = { 0 };

	world_tick(&s->world);
	for (int i = 0; i < CROWD; i += step) {
		struct world_proc p = { .id = { CROWD_PID + i, 5 }, .comm = "one", .state = 'S' };

		snprintf(p.command, sizeof p.command, "of the crowd");
		p.rss = (s->world.seq * CROWD + (uint64_t)i) << 10;
		p.job = -1;
		world_show(&s->world, &p);
	}
	if (store_put(s->store, &s->world.snap, &err) < 0)
		fail_msg("%s", err.msg);
	return world_last_id(s->store);
}

static int64_t ask(struct fixture *s, const char *sql, int64_t argument)
{
	sqlite3_stmt *stmt = NULL;
	int64_t value;

	assert_int_equal(sqlite3_prepare_v2(s->store->db, sql, -1, &stmt, NULL), SQLITE_OK);
	sqlite3_bind_int64(stmt, 1, argument);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

/* Each of the crowd that was shown has one row in the snapshot, with its own memory. */
static void check_snapshot(struct fixture *s, int64_t snapshot, uint64_t seq, int step)
{
	char *right = xasprintf(
		"SELECT count(*) FROM process_metrics WHERE snapshot_id = ?"
		" AND round(rss_mb * 1024) = %llu + pid - %d AND (pid - %d) %% %d = 0",
		(unsigned long long)seq * CROWD, CROWD_PID, CROWD_PID, step);

	assert_int_equal(ask(s, right, snapshot), CROWD / step);
	assert_int_equal(ask(s,
	                     "SELECT count(*) FROM process_metrics WHERE snapshot_id = ?"
	                     " AND pid >= 20000",
	                     snapshot),
	                 CROWD / step);
	free(right);
}

static void test_store__gives_its_memory_back_after_a_crowd(void **state)
{
	struct fixture *s = *state;
	struct store *st = s->store;

	put_with_crowd(s, 1);
	assert_true(st->processes.lives.cap >= CROWD && st->processes.known.cap >= CROWD);
	for (int i = 0; i < 4; i++)
		put_with_crowd(s, CROWD / 4);
	assert_true(st->processes.lives.cap <= 64);
	assert_true(st->processes.live.cap <= VEC_SMALL && st->processes.next.cap <= VEC_SMALL);
	assert_true(st->processes.free.cap <= 64);
	assert_int_equal(st->processes.lives.len - st->processes.free.len, st->processes.live.len);
}

static void test_store__writes_the_same_processes_on_when_the_crowd_has_gone(void **state)
{
	static const int steps[] = { 1, 1, 500, 500, 500, 2, 1, 1000, 1000, 1, 300, 300 };
	int64_t snapshot[ARRAY_LEN(steps)];
	struct fixture *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		snapshot[i] = put_with_crowd(s, steps[i]);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		check_snapshot(s, snapshot[i], i + 1, steps[i]);
	/* The first of them was there all the time, and is one process. */
	assert_int_equal(ask(s, "SELECT count(*) FROM process WHERE pid = ?", CROWD_PID), 1);
	assert_int_equal(ask(s, "SELECT count(*) FROM process WHERE pid = ?", CROWD_PID + 1), 3);
}

static void test_store__a_rollback_right_after_a_crowd_harms_nothing(void **state)
{
	struct fixture *s = *state;
	struct err err = { 0 };
	int64_t id;

	put_with_crowd(s, 1);
	put_with_crowd(s, 500);
	assert_int_equal(sqlite3_exec(s->store->db,
	                              "CREATE TEMP TRIGGER no BEFORE INSERT ON main.snapshot"
	                              " BEGIN SELECT RAISE(FAIL, 'no'); END",
	                              NULL, NULL, NULL),
	                 SQLITE_OK);
	world_tick(&s->world);
	assert_true(store_put(s->store, &s->world.snap, &err) < 0);
	assert_int_equal(sqlite3_exec(s->store->db, "DROP TRIGGER no", NULL, NULL, NULL),
	                 SQLITE_OK);
	id = put_with_crowd(s, 500);
	check_snapshot(s, id, s->world.seq, 500);
	id = put_with_crowd(s, 1);
	check_snapshot(s, id, s->world.seq, 1);
}

#define STAGED(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

RUN_TESTS(STAGED(test_store__gives_its_memory_back_after_a_crowd),
          STAGED(test_store__writes_the_same_processes_on_when_the_crowd_has_gone),
          STAGED(test_store__a_rollback_right_after_a_crowd_harms_nothing))
