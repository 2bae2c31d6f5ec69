/* SPDX-License-Identifier: MIT */
/* Retention, in steps that fit between two ticks: one keyframe, or some hundred rows, in one
 * transaction. */
#include <errno.h>
#include <string.h>

#include "store/store_handle.h"

#define GRACE_NS (UINT64_C(3600) * NS_PER_S)
#define REBOOT_GRACE_NS (UINT64_C(24) * 3600 * NS_PER_S)
#define ROWS_PER_STEP 500
#define FREE_PAGES_KEPT 1024 /* they are used again soon */
#define VACUUM_PAGES 256

enum stage {
	STAGE_NONE,
	STAGE_FULL,
	STAGE_MEANS,
	STAGE_EVENTS,
	STAGE_ANOMALIES,
	STAGE_PROCESSES,
	STAGE_VACUUM
};

static double cutoff(const struct store *st, uint64_t keep_ns)
{
	return st->retain.now_ns > keep_ns ? db_time(st->retain.now_ns - keep_ns) : 0;
}

static int prepare(struct store *st, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	return db_prepare(st->db, sql, ret, err);
}

/* What is in the meta table, or the default when there is nothing. */
static int get_meta(struct store *st, const char *key, double otherwise, double *ret,
                    struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = prepare(st, "SELECT value FROM meta WHERE key = ?", &stmt, err);

	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
	r = db_step(stmt, err);
	if (r >= 0)
		*ret = r > 0 ? sqlite3_column_double(stmt, 0) : otherwise;
	return MIN(r, 0);
}

static int set_meta(struct store *st, const char *key, double value, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = prepare(st, "INSERT OR REPLACE INTO meta VALUES(?, ?)", &stmt, err);

	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_double(stmt, 2, value);
	return db_run(stmt, err);
}

static uint64_t boot_hash(const struct store *st)
{
	/* 52 bits: a double holds them exactly. */
	return st->boot_id[0] ? store_hash(0, st->boot_id, strlen(st->boot_id)) >> 12 : 0;
}

/* A clock that jumped ahead by a year would make everything old. So time goes on, from one run
 * to the next, by what the boot clock counted between them and an hour; if the machine was
 * booted meanwhile, nobody knows how long it was off: by a day. A store that was not used for a
 * month is so cleaned up late, and one whose clock is wrong for a day keeps its week. */
static int bound_now(struct store *st, uint64_t wall_ns, uint64_t boot_ns, struct err *err)
{
	double before, boot, boot_s, now = db_time(wall_ns), allowed;
	double this_boot = (double)boot_hash(st);
	int r = get_meta(st, "retained_at", now, &before, err);

	if (r == 0)
		r = get_meta(st, "retained_boot", 0, &boot, err);
	if (r == 0)
		r = get_meta(st, "retained_boot_s", 0, &boot_s, err);
	if (r < 0)
		return r;
	allowed = before + db_time(GRACE_NS);
	if (boot == this_boot && boot > 0)
		allowed += MAX(0.0, db_time(boot_ns) - boot_s);
	else if (this_boot > 0)
		allowed += db_time(REBOOT_GRACE_NS);
	now = MIN(now, allowed);
	st->retain.now_ns = db_time_ns(now);
	r = set_meta(st, "retained_at", now, err);
	if (r == 0)
		r = set_meta(st, "retained_boot", this_boot, err);
	return r < 0 ? r : set_meta(st, "retained_boot_s", db_time(boot_ns), err);
}

int retain_begin(struct store *st, const struct store_retention *keep, uint64_t wall_ns,
                 uint64_t boot_ns, struct err *err)
{
	int r = transaction_begin(st, WRITE_PATIENCE_NS, err);

	if (r < 0)
		return r;
	st->retain = (struct retain_run){ .keep = *keep };
	r = transaction_end(st, bound_now(st, wall_ns, boot_ns, err), err);
	if (r == 0)
		st->retain.stage = STAGE_FULL;
	return r;
}

/* The oldest ended keyframe of this kind that ended before; 0 when there is none. The newest
 * snapshot of all is never taken: ids go on from it. */
static int64_t find_old(struct store *st, bool is_mean, double before, double *ret_ends,
                        struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int64_t id = 0;
	int r = prepare(st,
	                "SELECT id, ends FROM keyframe WHERE (resolution IS NOT NULL) = ?1"
	                " AND ends < ?2 AND last < (SELECT max(id) FROM snapshot)"
	                " ORDER BY ends LIMIT 1",
	                &stmt, err);

	if (r < 0)
		return r;
	sqlite3_bind_int(stmt, 1, is_mean);
	sqlite3_bind_double(stmt, 2, before);
	r = db_step(stmt, err);
	if (r > 0) {
		id = sqlite3_column_int64(stmt, 0);
		*ret_ends = sqlite3_column_double(stmt, 1);
	}
	return r < 0 ? r : id;
}

/* Everything that belongs to the keyframe, but for what was moved to another. */
static int delete_keyframe(struct store *st, int64_t keyframe, struct err *err)
{
#define ITS_SNAPSHOTS                                                                              \
	"(SELECT s.id FROM keyframe k JOIN snapshot s ON s.id BETWEEN k.first AND k.last"          \
	" AND s.kf = k.id WHERE k.id = ?1)"
	static const char *const texts[] = {
		"DELETE FROM sample_base WHERE id BETWEEN ?1 AND ?1 + 1048575",
		"DELETE FROM sample_change WHERE id BETWEEN ?1 << 12 AND (?1 + 1048576 << 12) - 1",
		"DELETE FROM sample_detail WHERE id BETWEEN ?1 << 12 AND (?1 + 1048576 << 12) - 1",
		"DELETE FROM sample_range WHERE id BETWEEN ?1 << 12 AND (?1 + 1048576 << 12) - 1",
		"DELETE FROM host WHERE id IN " ITS_SNAPSHOTS,
		"DELETE FROM host_range WHERE id IN " ITS_SNAPSHOTS,
		"DELETE FROM cgroup WHERE id IN " ITS_SNAPSHOTS,
		"DELETE FROM job_sample WHERE snapshot IN " ITS_SNAPSHOTS,
		"DELETE FROM gpu WHERE snapshot IN " ITS_SNAPSHOTS,
		"DELETE FROM gpu_range WHERE snapshot IN " ITS_SNAPSHOTS,
		"DELETE FROM gpu_use WHERE snapshot IN " ITS_SNAPSHOTS,
		"DELETE FROM snapshot WHERE id IN " ITS_SNAPSHOTS,
		"DELETE FROM keyframe WHERE id = ?1",
	};
	static_assert(SCHEMA_SLOTS == 1048576 && SCHEMA_AT_BITS == 12, "the numbers above");

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
		int r = prepare(st, texts[i], &stmt, err);

		if (r < 0)
			return r;
		sqlite3_bind_int64(stmt, 1, keyframe);
		r = db_run(stmt, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* 1: something was done, 0: nothing is left of this kind. */
static int step_full(struct store *st, struct err *err)
{
	const struct store_retention *keep = &st->retain.keep;
	double ends = 0;
	int64_t id = find_old(st, false, cutoff(st, keep->full_resolution_ns), &ends, err);
	int r = 0;

	if (id <= 0)
		return (int)id;
	if (ends >= cutoff(st, keep->downsampled_ns))
		r = downsample(st, id, err);
	if (r == 0)
		r = delete_keyframe(st, id, err);
	return r < 0 ? r : 1;
}

static int step_means(struct store *st, struct err *err)
{
	const struct store_retention *keep = &st->retain.keep;
	double ends = 0;
	uint64_t keep_ns = MAX(keep->downsampled_ns, keep->full_resolution_ns);
	int64_t id = find_old(st, true, cutoff(st, keep_ns), &ends, err);
	int r;

	if (id <= 0)
		return (int)id;
	r = delete_keyframe(st, id, err);
	return r < 0 ? r : 1;
}

/* Some of the rows that lie before the time that events are kept for. */
static int delete_old(struct store *st, const char *sql, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = prepare(st, sql, &stmt, err);

	if (r < 0)
		return r;
	sqlite3_bind_double(stmt, 1, cutoff(st, st->retain.keep.events_ns));
	sqlite3_bind_int(stmt, 2, ROWS_PER_STEP);
	r = db_run(stmt, err);
	return r < 0 ? r : sqlite3_changes(st->db) == ROWS_PER_STEP;
}

static int step_events(struct store *st, struct err *err)
{
	return delete_old(st,
	                  "DELETE FROM event WHERE id IN (SELECT id FROM event WHERE time < ?1"
	                  " ORDER BY time LIMIT ?2)",
	                  err);
}

static int step_anomalies(struct store *st, struct err *err)
{
	return delete_old(st,
	                  "DELETE FROM anomaly WHERE id IN (SELECT id FROM anomaly"
	                  " WHERE coalesce(ended, began) < ?1 LIMIT ?2)",
	                  err);
}

/* Processes that are dead and of which nothing else is left; those of jobs stay as long as
 * events do. */
static int step_processes(struct store *st, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *next = NULL, *stmt = NULL;
	int64_t from = st->retain.cursor;
	int r = prepare(st,
	                "SELECT max(id) FROM (SELECT id FROM process WHERE id > ?1 ORDER BY id"
	                " LIMIT ?2)",
	                &next, err);

	if (r == 0)
		r = prepare(
			st,
			"DELETE FROM process AS p WHERE p.id > ?1 AND p.id <= ?2"
			" AND (p.first IS NULL OR p.last IS NOT NULL)"
			" AND (p.job_id IS NULL OR coalesce(p.ended, p.started) < ?3)"
			" AND NOT EXISTS (SELECT 1 FROM event e WHERE e.proc = p.id)"
			" AND NOT EXISTS (SELECT 1 FROM snapshot s WHERE s.recorder = p.recorder"
			" AND s.id BETWEEN p.first AND p.last)",
			&stmt, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(next, 1, from);
	sqlite3_bind_int(next, 2, ROWS_PER_STEP);
	r = db_step(next, err);
	if (r <= 0 || sqlite3_column_type(next, 0) == SQLITE_NULL)
		return MIN(r, 0);
	st->retain.cursor = sqlite3_column_int64(next, 0);
	sqlite3_bind_int64(stmt, 1, from);
	sqlite3_bind_int64(stmt, 2, st->retain.cursor);
	sqlite3_bind_double(stmt, 3, cutoff(st, st->retain.keep.events_ns));
	r = db_run(stmt, err);
	return r < 0 ? r : 1;
}

/* Gives pages back when many are free. */
static int step_vacuum(struct store *st, struct err *err)
{
	int64_t free_pages = 0, pages = 0;
	int r = db_int(st->db, "PRAGMA freelist_count", &free_pages, err);

	if (r == 0)
		r = db_int(st->db, "PRAGMA page_count", &pages, err);
	if (r < 0 || free_pages < FREE_PAGES_KEPT || free_pages < pages / 4)
		return r;
	static_assert(VACUUM_PAGES == 256, "the number below");
	r = db_exec(st->db, "PRAGMA incremental_vacuum(256)", err);
	return r < 0 ? r : 1;
}

static int step(struct store *st, struct err *err)
{
	switch ((enum stage)st->retain.stage) {
	case STAGE_FULL:
		return step_full(st, err);
	case STAGE_MEANS:
		return step_means(st, err);
	case STAGE_EVENTS:
		return step_events(st, err);
	case STAGE_ANOMALIES:
		return step_anomalies(st, err);
	case STAGE_PROCESSES:
		return step_processes(st, err);
	case STAGE_VACUUM:
		return step_vacuum(st, err);
	case STAGE_NONE:
		break;
	}
	return 0;
}

int retain_step(struct store *st, bool *ret_more, struct err *err)
{
	int r = transaction_begin(st, WRITE_PATIENCE_NS, err);
	int did;

	if (r < 0)
		return r;
	did = step(st, err);
	r = transaction_end(st, MIN(did, 0), err);
	if (r < 0)
		return r;
	if (!did) {
		st->retain.stage = st->retain.stage == STAGE_VACUUM ? STAGE_NONE
		                                                    : st->retain.stage + 1;
		st->retain.cursor = 0;
	}
	*ret_more = st->retain.stage != STAGE_NONE;
	return 0;
}

int store_retain_step(struct store *st, const struct store_retention *keep, uint64_t now_wall_ns,
                      bool *ret_more, struct err *err)
{
	int r = st->db ? 0 : store_connect(st, err);

	if (r == 0 && st->retain.stage == STAGE_NONE)
		r = retain_begin(st, keep, now_wall_ns, clock_boot_ns(), err);
	if (r == 0)
		r = retain_step(st, ret_more, err);
	if (r == -EUCLEAN || r == -ESTALE) {
		r = store_recover(st, r, err);
		*ret_more = false;
	}
	return r;
}
