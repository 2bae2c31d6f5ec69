/* SPDX-License-Identifier: MIT */
/* A disk on which bringing anything to it takes long: the end of a recorder waits for it once, and
 * loses nothing. */
#include <sqlite3.h>
#include <sys/syscall.h>
#include <time.h>

#include "store_kit.h"

#define SLOW_MS 1200

static unsigned long sync_ms; /* what every sync of the program takes, and how many there were */
static unsigned syncs;

static int sync_slowly(long call, int fd)
{
	struct timespec wait = { .tv_sec = (time_t)(sync_ms / 1000),
		                 .tv_nsec = (long)(sync_ms % 1000) * 1000000 };

	syncs++;
	nanosleep(&wait, NULL);
	return (int)syscall(call, fd);
}

/* SQLite and the store call these instead of the C library's. */
int fdatasync(int fd)
{
	return sync_slowly(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	return sync_slowly(SYS_fsync, fd);
}

static int64_t count_snapshots(const char *dir)
{
	cleanup(freep) char *path = xasprintf("%s/proctor.db", dir);
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int64_t n;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM snapshot", -1, &stmt, NULL),
	                 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

/* Three ticks, and the end with syncs that take so long. */
static void end_with(unsigned long ms, unsigned *ret_syncs)
{
	struct world world;
	char *dir = world_dir();
	struct store *st;

	world_init(&world, 5);
	st = world_open(&world, dir);
	for (int i = 0; i < 3; i++) {
		world_tick(&world);
		world_put(&world, st);
	}
	sync_ms = ms;
	syncs = 0;
	store_close(st);
	*ret_syncs = syncs;
	sync_ms = 0;
	assert_int_equal(count_snapshots(dir), 3);
	world_rmdir(dir);
	world_done(&world);
}

static void test_store_sync__brings_the_start_of_a_job_to_the_disk_once(void **state)
{
	struct world world;
	char *dir = world_dir();
	struct store *st;
	uint64_t due_ns;
	struct err err;

	(void)state;
	world_init(&world, 5);
	st = world_open(&world, dir);
	world_put(&world, st);
	assert_int_equal(store_sync_due_ns(st), 0);
	world_add_job(&world, "young");
	syncs = 0;
	world_put(&world, st);
	assert_int_equal(syncs, 0);
	due_ns = store_sync_due_ns(st);
	assert_in_range(due_ns, 1, clock_mono_ns() + NS_PER_S / 2);
	assert_int_equal(store_sync(st, &err), 0);
	assert_int_equal(syncs, 1);
	assert_int_equal(store_sync_due_ns(st), 0);
	store_close(st);
	world_rmdir(dir);
	world_done(&world);
}

static void test_store_close__waits_once_for_a_slow_disk(void **state)
{
	unsigned n;

	(void)state;
	end_with(SLOW_MS, &n);
	assert_int_equal(n, 1);
}

static void test_store_close__empties_the_log_on_a_fast_one(void **state)
{
	unsigned n;

	(void)state;
	end_with(0, &n);
	assert_in_range(n, 2, 4);
}

RUN_TESTS(TEST(test_store_sync__brings_the_start_of_a_job_to_the_disk_once),
          TEST(test_store_close__waits_once_for_a_slow_disk),
          TEST(test_store_close__empties_the_log_on_a_fast_one))
