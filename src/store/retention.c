/* SPDX-License-Identifier: MIT */
/* Each step is one transaction: one keyframe, or some hundred rows. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "store/store_handle.h"
#include "store/transaction.h"

#define GRACE_NS (UINT64_C(3600) * NS_PER_S)
#define REBOOT_GRACE_NS (UINT64_C(24) * 3600 * NS_PER_S)
#define FREE_PAGES_KEPT 1024 /* they are used again soon */
#define VACUUM_PAGES 256

/* Keyframes at full resolution, keyframes of means, free pages, and the tables from the last to the
 * first. */
enum { STAGE_NONE, STAGE_FULL, STAGE_MEANS, STAGE_VACUUM, STAGE_TABLES };

static double cutoff(const struct store *st, uint64_t keep_ns)
{
	return st->retention.now_ns > keep_ns ? db_time(st->retention.now_ns - keep_ns) : 0;
}

static uint64_t boot_hash(const struct store *st)
{
	/* 52 bits: a double holds them exactly. */
	return st->boot_id[0] ? hash_bytes(HASH_SEED, st->boot_id, strlen(st->boot_id)) >> 12 : 0;
}

/* A clock that jumped ahead by a year would make everything old. So from one run to the next, time
 * advances by at most what the boot clock counted between them plus an hour; after a reboot, when
 * it is not known how long the machine was off, plus a day. A store that was not used for a month
 * is cleaned up late, and one whose clock is wrong for a day keeps its week. */
static int bound_now(struct store *st, uint64_t wall_ns, uint64_t boot_ns, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	double now = db_time(wall_ns), this_boot = (double)boot_hash(st), before, boot, allowed;
	int r = db_query(st->db,
	                 "SELECT (SELECT value FROM meta WHERE key = 'retained_at'),"
	                 " (SELECT value FROM meta WHERE key = 'retained_boot'),"
	                 " (SELECT value FROM meta WHERE key = 'retained_boot_s')",
	                 NULL, 0, &stmt, err);

	if (r == 0)
		r = db_step(stmt, err);
	if (r < 0)
		return r;
	before = db_column_real(stmt, 0);
	boot = sqlite3_column_double(stmt, 1);
	allowed = (isnan(before) ? now : before) + db_time(GRACE_NS);
	if (boot == this_boot && boot > 0)
		allowed += MAX(0.0, db_time(boot_ns) - sqlite3_column_double(stmt, 2));
	else if (this_boot > 0)
		allowed += db_time(REBOOT_GRACE_NS);
	sqlite3_reset(stmt);
	now = MIN(now, allowed);
	st->retention.now_ns = db_time_ns(now);
	return db_do(st->db,
	             "INSERT OR REPLACE INTO meta VALUES('retained_at', ?1),"
	             " ('retained_boot', ?2), ('retained_boot_s', ?3)",
	             BINDS(bind_real(now), bind_real(this_boot), bind_real(db_time(boot_ns))), err);
}

static int begin(struct store *st, const struct store_retention *keep, uint64_t wall_ns,
                 uint64_t boot_ns, struct err *err)
{
	int r = transaction_begin(st, TRANSACTION_WRITE_NS, err);

	if (r < 0)
		return r;
	st->retention = (struct retention_run){ .keep = *keep };
	r = transaction_end(st, bound_now(st, wall_ns, boot_ns, err), err);
	if (r == 0)
		st->retention.stage = STAGE_FULL;
	return r;
}

/* Rows of the keyframe, by the ids in their first column. */
static const char *const belongs_to_keyframe[ID_KINDS] = {
	[ID_SNAPSHOT] = "IN (SELECT s.id FROM keyframe k JOIN snapshot s ON s.id BETWEEN k.first"
			" AND k.last AND s.kf = k.id WHERE k.id = ?1)",
	[ID_KEYFRAME] = "BETWEEN ?1 AND ?1 + 1048575",
	[ID_SAMPLE] = "BETWEEN ?1 << 12 AND (?1 + 1048576 << 12) - 1",
};
static_assert(SCHEMA_SLOTS == 1048576 && SCHEMA_AT_BITS == 12, "the numbers above");

/* Everything that belongs to the keyframe, except what was moved to another. */
static int delete_keyframe(struct store *st, int64_t keyframe, struct err *err)
{
	int r = 0;

	for (size_t i = store_table_count; i-- > 0;)
		for (const struct table_ids *t = store_tables[i]->ids; r == 0 && t && t->table;
		     t++) {
			const char *condition = belongs_to_keyframe[t->ids[0].kind];
			char sql[256];

			if (!condition)
				continue;
			snprintf(sql, sizeof sql, "DELETE FROM %s WHERE %s %s", t->table,
			         t->ids[0].column, condition);
			r = db_do(st->db, sql, BINDS(bind_int(keyframe)), err);
		}
	return r;
}

/* The oldest keyframe at full resolution, or of means, that has ended long enough ago. The newest
 * snapshot of all is never deleted: ids go on from it. 1: something was done, 0: nothing is left. */
static int step_keyframe(struct store *st, bool is_mean, struct err *err)
{
	const struct store_retention *keep = &st->retention.keep;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	uint64_t keep_ns = is_mean ? MAX(keep->downsampled_ns, keep->full_resolution_ns)
	                           : keep->full_resolution_ns;
	int64_t id;
	double ends;
	int r = db_query(st->db,
	                 "SELECT id, ends FROM keyframe WHERE (resolution IS NOT NULL) = ?1"
	                 " AND ends < ?2 AND last < (SELECT max(id) FROM snapshot)"
	                 " ORDER BY ends LIMIT 1",
	                 BINDS(bind_int(is_mean), bind_real(cutoff(st, keep_ns))), &stmt, err);

	if (r == 0)
		r = db_step(stmt, err);
	if (r <= 0)
		return r;
	id = sqlite3_column_int64(stmt, 0);
	ends = sqlite3_column_double(stmt, 1);
	sqlite3_reset(stmt);
	r = is_mean || ends < cutoff(st, keep->downsampled_ns) ? 0
	                                                       : downsample_keyframe(st, id, err);
	if (r == 0)
		r = delete_keyframe(st, id, err);
	return r < 0 ? r : 1;
}

int retention_delete_before(struct store *st, const char *sql, double before, struct err *err)
{
	int r = db_do(st->db, sql, BINDS(bind_real(before), bind_int(RETENTION_ROWS)), err);

	return r < 0 ? r : sqlite3_changes(st->db) == RETENTION_ROWS;
}

/* Gives pages back when many are free. */
static int step_vacuum(struct store *st, struct err *err)
{
	int64_t free_pages = 0, pages = 0;
	int r = db_int(st->db, "PRAGMA freelist_count", NULL, 0, &free_pages, err);

	if (r == 0)
		r = db_int(st->db, "PRAGMA page_count", NULL, 0, &pages, err);
	if (r < 0 || free_pages < FREE_PAGES_KEPT || free_pages < pages / 4)
		return r;
	static_assert(VACUUM_PAGES == 256, "the number below");
	r = db_exec(st->db, "PRAGMA incremental_vacuum(256)", err);
	return r < 0 ? r : 1;
}

static int step(struct store *st, struct err *err)
{
	int stage = st->retention.stage;

	if (stage == STAGE_FULL || stage == STAGE_MEANS)
		return step_keyframe(st, stage == STAGE_MEANS, err);
	if (stage == STAGE_VACUUM)
		return step_vacuum(st, err);
	return store_tables[stage - STAGE_TABLES]->retain(
		st, cutoff(st, st->retention.keep.events_ns), err);
}

static int next_stage(int stage)
{
	if (stage == STAGE_FULL)
		return STAGE_MEANS;
	if (stage == STAGE_VACUUM)
		return STAGE_NONE;
	for (size_t i = stage == STAGE_MEANS ? store_table_count : (size_t)(stage - STAGE_TABLES);
	     i-- > 0;)
		if (store_tables[i]->retain)
			return STAGE_TABLES + (int)i;
	return STAGE_VACUUM;
}

static int run_step(struct store *st, bool *ret_more, struct err *err)
{
	int r = transaction_begin(st, TRANSACTION_WRITE_NS, err);
	int did;

	if (r < 0)
		return r;
	did = step(st, err);
	r = transaction_end(st, MIN(did, 0), err);
	if (r < 0)
		return r;
	if (!did) {
		st->retention.stage = next_stage(st->retention.stage);
		st->retention.cursor = 0;
	}
	*ret_more = st->retention.stage != STAGE_NONE;
	return 0;
}

int store_retain_step(struct store *st, const struct store_retention *keep, uint64_t wall_ns,
                      uint64_t boot_ns, bool *ret_more, struct err *err)
{
	int r = st->db ? store_examine(st, err) : 0;

	if (r == 0 && !st->retention.stage)
		r = begin(st, keep, wall_ns, boot_ns, err);
	if (r == 0)
		r = run_step(st, ret_more, err);
	if (r == -EUCLEAN || r == -ESTALE) {
		r = store_recover(st, r, err);
		*ret_more = false;
	}
	return r;
}
