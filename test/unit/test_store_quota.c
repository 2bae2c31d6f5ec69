/* SPDX-License-Identifier: MIT */
#include "store/store_quota.h"

#include "store_kit.h"

#define USER 1000u /* world_uid() */

static struct store *open_owned(const char *dir)
{
	char *path = xasprintf("%s/proctor.db", dir);
	struct store_options o = { .path = path, .interval_ns = NS_PER_S, .is_owner = true };
	const char *notice;
	struct store *st = NULL;
	struct err err = { 0 };

	assert_int_equal(store_open(&o, &st, &notice, &err), 0);
	free(path);
	return st;
}

/* A world of three users. burst_bytes 0: without limits. */
static struct store_left_out store_world(const char *dir, double burst_bytes, unsigned ticks)
{
	struct store *st = open_owned(dir);
	struct store_left_out left_out;
	struct world w;

	assert_true(st->quotas.burst_bytes > 0 && st->quotas.bytes_per_s > 0);
	st->quotas.burst_bytes = burst_bytes;
	st->quotas.bytes_per_s = 0;
	world_init(&w, 71);
	for (unsigned i = 0; i < ticks; i++)
		world_put(&w, st);
	left_out = store_left_out(st);
	store_close(st);
	world_done(&w);
	return left_out;
}

static void test_store_quota__thins_samples_before_it_drops_anything_else(void **state)
{
	char *all = world_dir(), *thinned = world_dir();
	struct store_left_out none = store_world(all, 0, 130);
	struct store_left_out some = store_world(thinned, 30000, 130);

	(void)state;
	assert_int_equal(none.samples + none.events + none.processes, 0);
	assert_true(some.samples > 100);
	assert_int_equal(some.processes, 0);
	assert_true(ask_int(thinned, "SELECT count(*) FROM sample_change") <
	            ask_int(all, "SELECT count(*) FROM sample_change") * 3 / 4);
	assert_int_equal(ask_int(thinned, "SELECT count(*) FROM process"),
	                 ask_int(all, "SELECT count(*) FROM process"));
	assert_int_equal(ask_int(thinned, "SELECT count(*) FROM process WHERE ended IS NOT NULL"),
	                 ask_int(all, "SELECT count(*) FROM process WHERE ended IS NOT NULL"));
	assert_true(ask_int(thinned, "SELECT count(*) FROM event WHERE details LIKE"
	                             " 'user 100_ exceeds its share of the store;%'") > 0);
	world_rmdir(all);
	world_rmdir(thinned);
}

static void test_store_quota__stores_no_new_process_far_beyond_the_burst(void **state)
{
	char *all = world_dir(), *cut = world_dir();

	(void)state;
	store_world(all, 0, 130);
	assert_true(store_world(cut, 2000, 130).samples > 100);
	assert_true(ask_int(cut, "SELECT count(*) FROM process") <
	            ask_int(all, "SELECT count(*) FROM process"));
	assert_int_equal(ask_int(cut, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
	                 1);
	world_rmdir(all);
	world_rmdir(cut);
}

static void test_store_quota__has_no_limit_for_root_and_recovers(void **state)
{
	char *dir = world_dir();
	struct store *st = open_owned(dir);
	struct snapshot snap = { .boot_ns = NS_PER_S };

	(void)state;
	store_quota_begin(st, &snap);
	store_quota_add(st, 0, SIZE_MAX / 2);
	store_quota_add(st, USER, (size_t)(st->quotas.burst_bytes * 0.65));
	store_quota_commit(st);
	store_quota_begin(st, &snap);
	assert_int_equal(store_quota_level(st, 0), STORE_QUOTA_ALL);
	assert_int_equal(store_quota_level(st, USER + 1), STORE_QUOTA_ALL);
	assert_int_equal(store_quota_level(st, USER), STORE_QUOTA_EVERY_2ND + 1);
	st->snapshots.keyframe.at = 4;
	assert_true(store_quota_is_due(st, USER));
	st->snapshots.keyframe.at = 6;
	assert_false(store_quota_is_due(st, USER));
	snap.boot_ns += (uint64_t)(st->quotas.burst_bytes / st->quotas.bytes_per_s * 1e9);
	store_quota_begin(st, &snap);
	assert_int_equal(store_quota_level(st, USER), STORE_QUOTA_ALL);
	store_close(st);
	world_rmdir(dir);
}

/* Losses and use are as if a snapshot that was rolled back had never been. */
static void test_store_quota__forgets_what_was_rolled_back(void **state)
{
	char *dir = world_dir();
	struct store *st = open_owned(dir);
	struct store_left_out before;
	struct err err = { 0 };
	double bytes = 0;
	struct world w;

	(void)state;
	st->quotas.burst_bytes = 30000;
	st->quotas.bytes_per_s = 0;
	world_init(&w, 71);
	for (unsigned i = 0; i < 130; i++)
		world_put(&w, st);
	before = store_left_out(st);
	assert_true(before.samples > 0);
	(void)store_take_notice(st);
	vec_each(&st->quotas.users, u)
		bytes += u->committed.bytes;
	/* The next one is due to report, and fails after its events were written. */
	w.churn = 60;
	w.boot_ns += 60 * NS_PER_S;
	world_tick(&w);
	assert_int_equal(sqlite3_exec(st->db,
	                              "CREATE TEMP TRIGGER refuse BEFORE INSERT ON process"
	                              " BEGIN SELECT raise(ABORT, 'refused'); END",
	                              NULL, NULL, NULL),
	                 SQLITE_OK);
	assert_true(store_put(st, &w.snap, &err) < 0);
	assert_int_equal(store_left_out(st).samples, before.samples);
	assert_null(store_take_notice(st));
	vec_each(&st->quotas.users, u)
		bytes -= u->committed.bytes;
	assert_true(bytes == 0);
	run_sql(dir, "DELETE FROM event WHERE details LIKE 'user 100_ exceeds%'");
	assert_int_equal(sqlite3_exec(st->db, "DROP TRIGGER refuse", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(store_put(st, &w.snap, &err), 0);
	assert_non_null(store_take_notice(st));
	assert_int_equal(ask_int(dir, "SELECT count(DISTINCT details) FROM event WHERE details LIKE"
	                              " 'user 100_ exceeds its share of the store;%'"),
	                 3);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

RUN_TESTS(TEST(test_store_quota__thins_samples_before_it_drops_anything_else),
          TEST(test_store_quota__stores_no_new_process_far_beyond_the_burst),
          TEST(test_store_quota__has_no_limit_for_root_and_recovers),
          TEST(test_store_quota__forgets_what_was_rolled_back))
