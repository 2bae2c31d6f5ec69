/* SPDX-License-Identifier: MIT */
#include "store/recorder_table.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "store/store_handle.h"

#define ENDED_WHEN_BRIEF 8 /* dead recorders that a brief one takes care of */

static const struct migration migrations[] = {
	{ 1,
	  "CREATE TABLE recorder(id INTEGER PRIMARY KEY, kind TEXT, boot_id TEXT, pid INTEGER, host TEXT,"
	  " version TEXT, interval_us INTEGER, started REAL, started_boot_us INTEGER, ended REAL);",
	  NULL },
	{ 2, "CREATE INDEX recorder_alive ON recorder(id) WHERE ended IS NULL;", NULL },
	{ 0 },
};

enum { END };

static const struct statement statements[] = {
	[END] = { "UPDATE recorder SET ended = ?2 WHERE id = ?1" },
};

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

static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = !strcmp(st->boot_id, snap->boot_id)
	                ? 1
	                : db_prepare(st->db, "UPDATE recorder SET boot_id = ?2 WHERE id = ?1",
	                             &stmt, err);

	if (r)
		return MIN(r, 0);
	sqlite3_bind_int64(stmt, 1, st->recorder);
	db_bind_text(stmt, 2, snap->boot_id, 36);
	return db_run(stmt, err);
}

static int run_for(struct store *st, const char *sql, int64_t recorder, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(st->db, sql, &stmt, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, recorder);
	return db_run(stmt, err);
}

/* What it left open ends with the last snapshot that it stored. */
static int end_recorder(struct store *st, int64_t recorder, struct err *err)
{
	int r = run_for(st, snapshot_table_end_keyframes, recorder, err);

	if (r == 0)
		r = run_for(
			st,
			"UPDATE recorder SET ended = coalesce((SELECT max(k.ends) FROM keyframe k"
			" WHERE k.recorder = ?1), started) WHERE id = ?1",
			recorder, err);
	for (size_t i = store_table_count; r == 0 && i-- > 0;)
		if (store_tables[i]->end_recorder)
			r = run_for(st, store_tables[i]->end_recorder, recorder, err);
	return r;
}

/* A live recorder holds the byte of its number in write.lock. */
static int end_dead_recorders(struct store *st, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	size_t left = st->is_brief ? ENDED_WHEN_BRIEF : SIZE_MAX;
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

int recorder_table_begin(struct store *st, struct err *err)
{
	int64_t id = 0;
	int r = end_dead_recorders(st, err);

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

void recorder_table_undo(struct store *st)
{
	if (st->recorder)
		db_lock_drop(&st->write, st->recorder);
	st->recorder = 0;
}

/* One that leaves nothing open needs a row or two only. */
int recorder_table_end(struct store *st, int64_t snapshot, uint64_t wall_ns, bool has_lives,
                       struct err *err)
{
	const struct snapshots_put *s = &st->snapshots;
	sqlite3_stmt *stmt;
	int r = 0;

	if (has_lives || job_table_has_running(st))
		return end_recorder(st, st->recorder, err);
	/* After a rollback none is open, but the one before still is. */
	if (snapshot)
		r = snapshot_table_end_keyframe(st,
		                                s->keyframe.id ? s->keyframe.id : s->open_keyframe,
		                                snapshot, db_time(wall_ns), err);
	stmt = statement_get(st, &statements[END], err);
	if (r < 0 || !stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, st->recorder);
	sqlite3_bind_double(stmt, 2, db_time(wall_ns));
	return db_run(stmt, err);
}

/* A brief recorder ends with its job, in the same transaction. */
bool recorder_table_is_over(const struct store *st, size_t live_processes)
{
	return st->is_brief && !live_processes && st->jobs.list.len && !job_table_has_running(st);
}

static int finish(struct store *st, const struct snapshot *snap, struct err *err)
{
	const struct snapshots_put *s = &st->snapshots;

	if (!recorder_table_is_over(st, live_processes_at(st, snap)->len))
		return 0;
	if (!snap->events_only)
		return recorder_table_end(st, s->next, snap->wall_ns, false, err);
	return recorder_table_end(st, s->last, s->last ? s->wall_ns : snap->wall_ns, false, err);
}

static const struct table_ids ids[] = {
	{ "recorder", { { "id", ID_RECORDER } } },
	{ 0 },
};

const struct store_table recorder_table = {
	.name = "recorder",
	.migrations = migrations,
	.statements = statements,
	.statement_count = ARRAY_LEN(statements),
	.put = put,
	.finish = finish,
	.ids = ids,
};
