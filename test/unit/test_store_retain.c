/* SPDX-License-Identifier: MIT */
/* Retention against a model: every snapshot that was ever shown is known here, and what must be
 * left of it is worked out the long way. */
#include <sqlite3.h>

#include "store/store_handle.h"
#include "store_kit.h"

struct moment {
	int64_t id, kf;
	double time, ends; /* ends: of its keyframe */
};

struct past {
	VEC(struct moment) moments;
};

/* What is left of a process in a minute. */
struct expected {
	size_t n;
	int64_t cpu_n, fds_n;
	int64_t cpu, rss_kib, fds, rss_min, rss_max;
};

static sqlite3_stmt *ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	return stmt;
}

static int64_t ask_db_int(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = ask(db, sql);
	int64_t value;

	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

static void remember(sqlite3 *db, struct past *past)
{
	sqlite3_stmt *stmt = ask(db,
	                         "SELECT s.id, s.kf, s.time, k.ends FROM snapshot s JOIN keyframe k"
	                         " ON k.id = s.kf ORDER BY s.id");

	while (sqlite3_step(stmt) == SQLITE_ROW) {
		struct moment *m = world_push(&past->moments);

		m->id = sqlite3_column_int64(stmt, 0);
		m->kf = sqlite3_column_int64(stmt, 1);
		m->time = sqlite3_column_double(stmt, 2);
		m->ends = sqlite3_column_type(stmt, 3) == SQLITE_NULL
		                  ? INFINITY
		                  : sqlite3_column_double(stmt, 3);
	}
	sqlite3_finalize(stmt);
}

static void retain_all(struct store *st, const struct store_retention *keep, uint64_t wall_ns,
                       uint64_t boot_ns)
{
	struct err err = { 0 };
	bool more = true;
	int steps = 0;

	while (more) {
		if (store_retain_step(st, keep, wall_ns, boot_ns, &more, &err) < 0)
			fail_msg("%s", err.msg);
		assert_true(++steps < 10000);
	}
}

/* Moments [from, to) stand together in one snapshot afterwards. */
static size_t group_end(const struct past *past, size_t from, double cutoff)
{
	const struct moment *m = past->moments.at;
	size_t to = from + 1;

	if (m[from].ends >= cutoff)
		return to;
	while (to < past->moments.len && m[to].kf == m[from].kf &&
	       floor(m[to].time / 60) == floor(m[from].time / 60))
		to++;
	return to;
}

/* Rows of the world are in the order of snapshots; the first of this one. */
static size_t first_row(const struct world *w, int64_t snapshot)
{
	size_t low = 0, high = w->rows.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (w->rows.at[mid].snapshot < snapshot)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct expected expect(const struct world *w, int64_t from, int64_t to, struct proc_id id)
{
	struct expected e = { 0 };

	for (size_t i = first_row(w, from); i < w->rows.len && w->rows.at[i].snapshot <= to; i++) {
		const struct world_proc *p = &w->rows.at[i].p;
		int64_t kib = (int64_t)(p->rss >> 10);

		if (!proc_id_eq(p->id, id))
			continue;
		e.rss_min = e.n ? MIN(e.rss_min, kib) : kib;
		e.rss_max = MAX(e.rss_max, kib);
		e.rss_kib += kib;
		e.n++;
		if (isfinite(p->cpu)) {
			e.cpu += llround(p->cpu * 1000);
			e.cpu_n++;
		}
		if (p->has_fds) {
			e.fds += (int64_t)p->fds;
			e.fds_n++;
		}
	}
	e.rss_kib = e.n ? (e.rss_kib + (int64_t)e.n / 2) / (int64_t)e.n : 0;
	e.cpu = e.cpu_n ? (e.cpu + e.cpu_n / 2) / e.cpu_n : -1;
	e.fds = e.fds_n ? (e.fds + e.fds_n / 2) / e.fds_n : -1;
	return e;
}

/* All processes of the snapshots [from, to] are in `from`, each with its means. */
static void check_range(const struct expected *e, sqlite3_stmt *ranges, int64_t snapshot,
                        int64_t id)
{
	sqlite3_bind_int64(ranges, 1, snapshot);
	sqlite3_bind_int64(ranges, 2, id);
	assert_int_equal(sqlite3_step(ranges), SQLITE_ROW);
	assert_int_equal(llround(sqlite3_column_double(ranges, 0) * 1024), e->rss_min);
	assert_int_equal(llround(sqlite3_column_double(ranges, 1) * 1024), e->rss_max);
	sqlite3_reset(ranges);
}

static size_t check_group(const struct world *w, sqlite3_stmt *stmt, sqlite3_stmt *ranges,
                          int64_t from, int64_t to)
{
	size_t rows = 0, lives = 0;

	sqlite3_bind_int64(stmt, 1, from);
	for (; sqlite3_step(stmt) == SQLITE_ROW; rows++) {
		struct proc_id id = { .pid = sqlite3_column_int(stmt, 0),
			              .start_ticks = (uint64_t)sqlite3_column_int64(stmt, 1) };
		struct expected e;

		e = expect(w, from, to, id);
		assert_true(e.n > 0);
		assert_int_equal(llround(sqlite3_column_double(stmt, 2) * 1024), e.rss_kib);
		assert_int_equal(sqlite3_column_type(stmt, 3) == SQLITE_NULL
		                         ? -1
		                         : llround(sqlite3_column_double(stmt, 3) * 10),
		                 e.cpu);
		assert_int_equal(sqlite3_column_type(stmt, 4) == SQLITE_NULL
		                         ? -1
		                         : sqlite3_column_int64(stmt, 4),
		                 e.fds);
		if (e.rss_min < e.rss_max)
			check_range(&e, ranges, from, sqlite3_column_int64(stmt, 5));
	}
	sqlite3_reset(stmt);
	for (size_t i = first_row(w, from); i < w->rows.len && w->rows.at[i].snapshot <= to; i++) {
		bool seen = false;

		for (size_t k = first_row(w, from); k < i && !seen; k++)
			seen = proc_id_eq(w->rows.at[k].p.id, w->rows.at[i].p.id);
		lives += !seen;
	}
	assert_int_equal(rows, lives);
	return rows;
}

static void check_all(const struct world *w, const struct past *past, sqlite3 *db,
                      double full_cutoff, double mean_cutoff)
{
	sqlite3_stmt *ids = ask(db, "SELECT id FROM snapshots ORDER BY id");
	sqlite3_stmt *rows = ask(
		db, "SELECT pm.pid, pm.start_ticks, pm.rss_mb, pm.cpu_percent, pm.open_fds,"
		    " pm.id FROM process_metrics pm WHERE pm.snapshot_id = ?");
	sqlite3_stmt *ranges = ask(db, "SELECT rss_mb_min, rss_mb_max FROM process_ranges"
	                               " WHERE snapshot_id = ? AND id = ?");
	size_t to, means = 0, full = 0;

	for (size_t from = 0; from < past->moments.len; from = to) {
		const struct moment *m = past->moments.at;

		to = group_end(past, from, full_cutoff);
		if (m[from].ends < mean_cutoff)
			continue;
		assert_int_equal(sqlite3_step(ids), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int64(ids, 0), m[from].id);
		if (m[from].ends < full_cutoff)
			means++;
		else
			full++;
		if (m[from].ends < full_cutoff || from % 50 == 0)
			check_group(w, rows, ranges, m[from].id, m[to - 1].id);
	}
	assert_int_equal(sqlite3_step(ids), SQLITE_DONE);
	assert_true(means > 10 && full > 100);
	assert_int_equal(
		ask_db_int(db, "SELECT count(*) FROM process_metrics WHERE age_seconds < 0"), 0);
	sqlite3_finalize(ids);
	sqlite3_finalize(rows);
	sqlite3_finalize(ranges);
}

static sqlite3 *open_client(const char *dir)
{
	char *path = xasprintf("%s/proctor.db", dir);
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	free(path);
	return db;
}

/* From here on, new processes get ids a million behind old ones: the same slots, in the same
 * hour. */
static void share_slots(const char *dir)
{
	char *path = xasprintf("%s/proctor.db", dir);
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
	                              "INSERT INTO process(id, recorder, pid, started)"
	                              " SELECT 1048575 + max(id) - 20, 99, 1, 0 FROM process",
	                              NULL, NULL, NULL),
	                 SQLITE_OK);
	sqlite3_close(db);
	free(path);
}

static void test_retain__leaves_what_the_model_predicts(void **state)
{
	struct store_retention keep = { .full_resolution_ns = 900 * NS_PER_S,
		                        .downsampled_ns = 2400 * NS_PER_S,
		                        .events_ns = 1000 * NS_PER_S };
	char *dir = world_dir();
	struct past past = { 0 };
	struct world w;
	struct store *st;
	double now;
	sqlite3 *db;

	(void)state;
	world_init(&w, 11);
	world_add_job(&w, "j");
	w.churn = 1;
	st = world_open(&w, dir);
	for (int i = 0; i < 3000; i++) {
		world_put(&w, st);
		if (i == 1500)
			share_slots(dir);
	}
	db = open_client(dir);
	remember(db, &past);
	now = (double)w.wall_ns / 1e9;
	retain_all(st, &keep, w.wall_ns, w.boot_ns);
	check_all(&w, &past, db, now - 900, now - 2400);
	/* Nothing is left of what went, and nothing is gone that is needed. */
	assert_int_equal(
		ask_db_int(db,
	                   "SELECT count(*) FROM host WHERE id NOT IN (SELECT id FROM snapshot)"),
		0);
	assert_int_equal(ask_db_int(db,
	                            "SELECT count(*) FROM sample_base WHERE id >> 20 << 20 NOT IN"
	                            " (SELECT id FROM keyframe)"),
	                 0);
	assert_int_equal(ask_db_int(db,
	                            "SELECT count(*) FROM sample_change WHERE id >> 32 << 20 NOT IN"
	                            " (SELECT id FROM keyframe)"),
	                 0);
	assert_int_equal(ask_db_int(db, "SELECT count(*) FROM sample_base WHERE proc NOT IN"
	                                " (SELECT id FROM process)"),
	                 0);
	assert_int_equal(
		ask_db_int(
			db,
			"SELECT count(*) FROM process p WHERE job IS NULL AND last IS NOT NULL"
			" AND NOT EXISTS (SELECT 1 FROM snapshot s WHERE s.id BETWEEN p.first"
			" AND p.last) AND NOT EXISTS (SELECT 1 FROM event e WHERE e.proc = p.id)"),
		0);
	sqlite3_close(db);
	/* And it goes on: the second run takes up the hour that the first one began. */
	db = open_client(dir);
	for (int i = 0; i < 300; i++)
		world_put(&w, st);
	vec_reset(&past.moments);
	retain_all(st, &keep, w.wall_ns, w.boot_ns);
	assert_in_range(ask_db_int(db, "SELECT count(*) FROM keyframe WHERE resolution = 60"), 1,
	                4);
	store_close(st);
	assert_int_equal(
		ask_db_int(db,
	                   "SELECT count(*) FROM process WHERE last IS NULL AND first IS NOT NULL"),
		0);
	sqlite3_close(db);
	vec_done(&past.moments);
	world_done(&w);
	world_rmdir(dir);
}

static void test_retain__keeps_the_history_when_the_clock_jumps_ahead(void **state)
{
	struct store_retention keep = { .full_resolution_ns = 24 * 3600 * NS_PER_S,
		                        .downsampled_ns = 7 * 86400 * NS_PER_S,
		                        .events_ns = 30 * 86400 * NS_PER_S };
	uint64_t year_ns = 365 * 86400 * NS_PER_S;
	char *dir = world_dir();
	struct world w;
	struct store *st;
	int64_t before;
	sqlite3 *db;

	(void)state;
	world_init(&w, 12);
	st = world_open(&w, dir);
	for (int i = 0; i < 300; i++)
		world_put(&w, st);
	retain_all(st, &keep, w.wall_ns, w.boot_ns); /* knows what time it is */
	w.wall_ns += year_ns;
	for (int i = 0; i < 100; i++)
		world_put(&w, st);
	db = open_client(dir);
	before = ask_db_int(db, "SELECT count(*) FROM snapshots");
	assert_int_equal(before, 400);
	retain_all(st, &keep, w.wall_ns, w.boot_ns);
	assert_int_equal(ask_db_int(db, "SELECT count(*) FROM snapshots"), before);
	/* For a day of runs the full resolution stays; the means for a week. */
	for (int hour = 0; hour < 10; hour++)
		retain_all(st, &keep, w.wall_ns, w.boot_ns + (uint64_t)hour * 3600 * NS_PER_S);
	assert_int_equal(ask_db_int(db, "SELECT count(*) FROM snapshots"), before);
	for (int hour = 10; hour < 40; hour++)
		retain_all(st, &keep, w.wall_ns, w.boot_ns + (uint64_t)hour * 3600 * NS_PER_S);
	assert_in_range(
		ask_db_int(db, "SELECT count(*) FROM snapshots WHERE timestamp < 1800000000"), 5,
		7);
	store_close(st);
	sqlite3_close(db);
	world_done(&w);
	world_rmdir(dir);
}

static void test_retain__gives_pages_back(void **state)
{
	struct store_retention keep = { .full_resolution_ns = 60 * NS_PER_S,
		                        .downsampled_ns = 60 * NS_PER_S,
		                        .events_ns = 60 * NS_PER_S };
	char *dir = world_dir();
	struct world w;
	struct store *st;
	int64_t before;
	sqlite3 *db;

	(void)state;
	world_init(&w, 13);
	w.churn = 40;
	st = world_open(&w, dir);
	for (int i = 0; i < 4000; i++)
		world_put(&w, st);
	db = open_client(dir);
	before = ask_db_int(db, "PRAGMA page_count");
	assert_true(before > 2000);
	retain_all(st, &keep, w.wall_ns, w.boot_ns);
	assert_true(ask_db_int(db, "PRAGMA page_count") < before * 2 / 3);
	assert_int_equal(ask_db_int(db, "SELECT max(id) FROM snapshots"), 4000);
	sqlite3_close(db);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

RUN_TESTS(TEST(test_retain__leaves_what_the_model_predicts),
          TEST(test_retain__keeps_the_history_when_the_clock_jumps_ahead),
          TEST(test_retain__gives_pages_back))
