/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <unistd.h>

#include "store/store_handle.h"

#define BURIALS_WHEN_BRIEF 8

static int insert_recorder(struct store *st, int64_t *ret, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	char host[256] = "";
	int r = db_prepare(st->db,
	                   "INSERT INTO recorder(kind, pid, host, version, interval_us, started,"
	                   " started_boot_us) VALUES(?, ?, ?, ?, ?, ?, ?)",
	                   &stmt, err);

	if (r < 0)
		return r;
	gethostname(host, sizeof host - 1);
	db_bind_text(stmt, 1, st->kind, 64);
	sqlite3_bind_int64(stmt, 2, getpid());
	db_bind_text(stmt, 3, host, sizeof host);
	sqlite3_bind_text(stmt, 4, PROCTOR_VERSION, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 5, (int64_t)(st->interval_ns / NS_PER_US));
	sqlite3_bind_double(stmt, 6, db_time(clock_wall_ns()));
	sqlite3_bind_int64(stmt, 7, (int64_t)(clock_boot_ns() / NS_PER_US));
	r = db_run(stmt, err);
	if (r == 0)
		*ret = sqlite3_last_insert_rowid(st->db);
	return r;
}

int recorder_tell_boot(struct store *st, const char *boot_id, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(st->db, "UPDATE recorder SET boot_id = ?2 WHERE id = ?1", &stmt, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, st->recorder);
	db_bind_text(stmt, 2, boot_id, 36);
	return db_run(stmt, err);
}

/* What is open at a recorder's end is closed with the last snapshot it stored. */
static int end_recorder(struct store *st, int64_t recorder, struct err *err)
{
	static const char *const texts[] = {
		"UPDATE keyframe SET (last, ends) = (SELECT s.id, s.time FROM snapshot s"
		" WHERE s.id >= keyframe.first AND s.kf = keyframe.id ORDER BY s.id DESC LIMIT 1)"
		" WHERE recorder = ?1 AND last IS NULL",
		"UPDATE process SET last = coalesce((SELECT max(k.last) FROM keyframe k"
		" WHERE k.recorder = ?1), first) WHERE recorder = ?1 AND last IS NULL"
		" AND first IS NOT NULL",
		"UPDATE recorder SET ended = coalesce((SELECT max(k.ends) FROM keyframe k"
		" WHERE k.recorder = ?1), started) WHERE id = ?1",
		/* 3 is JOB_LOST: its recorder died before it ended. What was only claimed never
		   was. */
		"UPDATE sheet SET status = 3, ended = max(started, (SELECT r.ended FROM recorder r"
		" WHERE r.id = ?1))"
		" WHERE status = 0 AND job IN (SELECT id FROM job WHERE recorder = ?1 AND status = 0)",
		"UPDATE job SET status = 3, ended = max(started, (SELECT r.ended FROM recorder r"
		" WHERE r.id = ?1)),"
		" last_snapshot = (SELECT max(k.last) FROM keyframe k WHERE k.recorder = ?1)"
		" WHERE recorder = ?1 AND status = 0",
		"UPDATE anomaly SET ended = max(began, (SELECT r.ended FROM recorder r"
		" WHERE r.id = ?1)) WHERE id BETWEEN ?1 << 32 AND (?1 + 1 << 32) - 1 AND ended IS NULL",
	};
	static_assert(SCHEMA_EPISODE_BITS == 32, "the number in the text above");
	static_assert(JOB_RUNNING == 0 && JOB_LOST == 3, "the numbers in the text above");

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
		int r = db_prepare(st->db, texts[i], &stmt, err);

		if (r < 0)
			return r;
		sqlite3_bind_int64(stmt, 1, recorder);
		r = db_run(stmt, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A recorder that lives holds the byte of its number in write.lock. */
static int bury_the_dead(struct store *st, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	size_t left = st->is_brief ? BURIALS_WHEN_BRIEF : SIZE_MAX;
	int r = db_prepare(st->db, "SELECT id FROM recorder WHERE ended IS NULL", &stmt, err);

	if (r < 0)
		return r;
	while (left && (r = db_step(stmt, err)) > 0) {
		int64_t id = sqlite3_column_int64(stmt, 0);

		if (id <= 0 || db_lock_is_taken(&st->write, id))
			continue;
		r = end_recorder(st, id, err);
		if (r < 0)
			return r;
		left--;
	}
	return MIN(r, 0);
}

int recorder_begin(struct store *st, struct err *err)
{
	int64_t id = 0;
	int r = bury_the_dead(st, err);

	if (r == 0)
		r = insert_recorder(st, &id, err);
	if (r < 0)
		return r;
	if (db_lock_take(&st->write, id, 0) < 0)
		return err_set(err, EUCLEAN, "'%s': recorder %lld exists twice", st->path,
		               (long long)id);
	st->recorder = id;
	st->recorder_is_fresh = true;
	st->boot_id[0] = '\0';
	return 0;
}

void recorder_undo(struct store *st)
{
	if (st->recorder)
		db_lock_drop(&st->write, st->recorder);
	st->recorder = 0;
}

static int end_keyframe(struct store *st, int64_t snapshot, uint64_t wall_ns, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_END_KEYFRAME, err);

	if (!stmt)
		return -err->code;
	/* After a rollback none is under way, but the one before is still open. */
	sqlite3_bind_int64(stmt, 1, st->keyframe.id ? st->keyframe.id : st->keyframe_open);
	sqlite3_bind_int64(stmt, 2, snapshot);
	sqlite3_bind_double(stmt, 3, db_time(wall_ns));
	return db_run(stmt, err);
}

/* One that leaves nothing open needs a row or two only. */
int recorder_finish(struct store *st, int64_t snapshot, uint64_t wall_ns, bool has_lives,
                    struct err *err)
{
	sqlite3_stmt *stmt;
	int r = 0;

	if (has_lives || job_has_running(st))
		return end_recorder(st, st->recorder, err);
	if (snapshot)
		r = end_keyframe(st, snapshot, wall_ns, err);
	stmt = statement_get(st, Q_END_RECORDER, err);
	if (r < 0 || !stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, st->recorder);
	sqlite3_bind_double(stmt, 2, db_time(wall_ns));
	return db_run(stmt, err);
}
