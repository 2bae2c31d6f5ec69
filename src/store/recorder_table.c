/* SPDX-License-Identifier: MIT */
#include "store/recorder_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/store_handle.h"
#include "store/transaction.h"

#define ENDED_WHEN_BRIEF 8 /* dead recorders that a brief one takes care of */

static const struct migration migrations[] = {
	{ 1,
	  "CREATE TABLE recorder(id INTEGER PRIMARY KEY, kind TEXT, boot_id TEXT, pid INTEGER, host TEXT,"
	  " version TEXT, interval_us INTEGER, started REAL, started_boot_us INTEGER, ended REAL);",
	  NULL },
	{ 2, "CREATE INDEX recorder_alive ON recorder(id) WHERE ended IS NULL;", NULL },
	{ 0 },
};

static const struct statement end_statement[] = {
	{ "UPDATE recorder SET ended = ?2 WHERE id = ?1" },
	{ 0 },
};

static int insert_recorder(struct store *st, int64_t *ret, struct err *err)
{
	char host[256] = "";
	int r;

	gethostname(host, sizeof host - 1);
	r = db_do(st->db,
	          "INSERT INTO recorder(kind, pid, host, version, interval_us, started,"
	          " started_boot_us) VALUES(?, ?, ?, ?, ?, ?, ?)",
	          BINDS(bind_text(st->kind, 64), bind_int(getpid()), bind_text(host, sizeof host),
	                bind_text(PROCTOR_VERSION, sizeof PROCTOR_VERSION),
	                bind_int((int64_t)(st->interval_ns / NS_PER_US)),
	                bind_real(db_time(clock_wall_ns())),
	                bind_int((int64_t)(clock_boot_ns() / NS_PER_US))),
	          err);
	if (r == 0)
		*ret = sqlite3_last_insert_rowid(st->db);
	return r;
}

static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	if (!strcmp(st->boot_id, snap->boot_id))
		return 0;
	return db_do(st->db, "UPDATE recorder SET boot_id = ?2 WHERE id = ?1",
	             BINDS(bind_int(st->recorder), bind_text(snap->boot_id, 36)), err);
}

int store_introduce(struct store *st, const char *boot_id, struct err *err)
{
	int r = transaction_begin(st, TRANSACTION_WRITE_NS, err);

	if (r < 0)
		return r;
	r = db_do(st->db, "UPDATE recorder SET boot_id = ?2 WHERE id = ?1",
	          BINDS(bind_int(st->recorder), bind_text(boot_id, 36)), err);
	r = transaction_end(st, r, err);
	if (r == 0)
		snprintf(st->boot_id, sizeof st->boot_id, "%s", boot_id);
	return r;
}

/* Its open rows end with the last snapshot that it stored. */
static int end_recorder(struct store *st, int64_t recorder, struct err *err)
{
	const struct bind id = bind_int(recorder);
	int r = db_do(st->db, snapshot_table_end_keyframes, &id, 1, err);

	if (r == 0)
		r = db_do(st->db,
		          "UPDATE recorder SET ended = coalesce((SELECT max(k.ends) FROM keyframe k"
		          " WHERE k.recorder = ?1), started) WHERE id = ?1",
		          &id, 1, err);
	for (size_t i = store_table_count; r == 0 && i-- > 0;)
		if (store_tables[i]->end_recorder)
			r = db_do(st->db, store_tables[i]->end_recorder, &id, 1, err);
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
int recorder_table_end(struct store *st, int64_t snapshot, uint64_t wall_ns,
                       bool has_live_processes, struct err *err)
{
	const struct snapshots_put *s = &st->snapshots;
	int r = 0;

	if (has_live_processes || job_table_has_running(st))
		return end_recorder(st, st->recorder, err);
	/* After a rollback none is open, but the one before still is. */
	if (snapshot)
		r = snapshot_table_end_keyframe(st,
		                                s->keyframe.id ? s->keyframe.id : s->open_keyframe,
		                                snapshot, db_time(wall_ns), err);
	return r < 0 ? r
	             : statement_run(st, end_statement,
	                             BINDS(bind_int(st->recorder), bind_real(db_time(wall_ns))),
	                             err);
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
	.statements = end_statement,
	.put = put,
	.finish = finish,
	.ids = ids,
};
