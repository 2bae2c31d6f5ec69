/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "sqlite/db_file.h"
#include "store/recorder_table.h"
#include "store/store_schema.h"
#include "store/side_store.h"
#include "store/store_handle.h"
#include "store/transaction.h"

#define OPEN_PATIENCE_NS TRANSACTION_START_NS
#define EXAMINE_NS (20 * NS_PER_S)
#define DAMAGE_PAUSE_NS (600 * NS_PER_S) /* between two files set aside: never a loop of them */

static int on_commit(void *self, sqlite3 *db, const char *name, int pages)
{
	(void)db, (void)name;
	((struct store *)self)->wal_pages = pages;
	return SQLITE_OK;
}

static int set_journal(struct store *st, struct err *err)
{
	const char *wanted = st->has_rollback_journal ? "truncate" : "wal";
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(st->db,
	                   st->has_rollback_journal ? "PRAGMA journal_mode=TRUNCATE"
	                                            : "PRAGMA journal_mode=WAL",
	                   &stmt, err);

	if (r == 0)
		r = db_step(stmt, err);
	if (r < 0)
		return r;
	if (r == 0 || strcmp((const char *)sqlite3_column_text(stmt, 0), wanted) != 0)
		return err_set(err, ENOTSUP, "'%s': %s", st->path,
		               st->has_rollback_journal
		                       ? "its write-ahead log cannot be ended"
		                       : "this file system does not support write-ahead logging");
	return 0;
}

/* Every statement is prepared now: a damaged schema is found here and not in the middle of a
 * tick. */
static int prepare_all(struct store *st, struct err *err)
{
	for (size_t i = 0; i < store_table_count; i++) {
		const struct statement *lists[] = { store_tables[i]->statements,
			                            store_tables[i]->downsample };

		for (size_t l = 0; l < ARRAY_LEN(lists); l++)
			for (const struct statement *q = lists[l]; q && (q->sql || q->build); q++)
				if (!statement_get(st, q, err))
					return -err->code;
	}
	return 0;
}

/* To the caller, and into the history. */
printf_like(2, 3) static void report(struct store *st, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(st->notice, sizeof st->notice, fmt, ap);
	va_end(ap);
	memcpy(st->own_event, st->notice, sizeof st->own_event);
}

#define STEPS_BETWEEN_CALLS 100000 /* of SQLite's machine: some milliseconds */

static int on_steps(void *self)
{
	const struct store *st = self;

	st->while_updating(st->updating_self);
	return 0;
}

static int update_schema(struct store *st, struct err *err)
{
	int r;

	if (st->while_updating)
		sqlite3_progress_handler(st->db, STEPS_BETWEEN_CALLS, on_steps, st);
	r = store_schema_apply(st->db, !st->is_brief, err);
	sqlite3_progress_handler(st->db, 0, NULL, NULL);
	return r;
}

static int is_late(void *deadline_ns)
{
	return clock_mono_ns() > *(const uint64_t *)deadline_ns;
}

int store_examine(struct store *st, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	uint64_t deadline_ns = clock_mono_ns() + EXAMINE_NS;
	int r;

	if (!db_file_take_suspicion(st->path))
		return 0;
	r = db_prepare(st->db, "PRAGMA quick_check(1)", &stmt, err);
	if (r < 0)
		return r;
	sqlite3_progress_handler(st->db, 1000, is_late, &deadline_ns);
	r = db_step(stmt, err);
	sqlite3_progress_handler(st->db, 0, NULL, NULL);
	if (r > 0 && strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0)
		return err_set(err, EUCLEAN, "%s", (const char *)sqlite3_column_text(stmt, 0));
	return r == -EUCLEAN ? r : 0;
}

static int set_up(struct store *st, bool is_new, struct err *err)
{
	struct err ignored;
	int r = 0;

	/* A new file has nothing to lose yet. */
	if (is_new)
		r = db_exec(st->db, "PRAGMA synchronous=OFF; PRAGMA auto_vacuum=INCREMENTAL", err);
	if (r == 0)
		r = set_journal(st, err);
	/* A rollback journal needs FULL: the file itself is changed by each commit. */
	if (r == 0)
		r = db_exec(st->db,
		            st->has_rollback_journal ? "PRAGMA synchronous=FULL"
		                                     : "PRAGMA synchronous=NORMAL",
		            err);
	if (r == 0)
		r = db_exec(st->db,
		            "PRAGMA cache_size=-2048;"
		            " PRAGMA journal_size_limit=67108864",
		            err);
	if (r == 0)
		r = update_schema(st, err);
	if (r == 0 && !is_new && !st->is_side && side_store_import(st, &ignored) < 0)
		report(st, "%s", ignored.msg);
	/* The application id must be in the file itself: that is where others read it first. */
	if (r == 0 && is_new)
		sqlite3_wal_checkpoint_v2(st->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	if (r == 0 && !st->is_brief)
		r = prepare_all(st, err);
	sqlite3_wal_hook(st->db, on_commit, st);
	return r;
}

/* A brief recorder adds its row with its first transaction. */
static int begin_recording(struct store *st, struct err *err)
{
	int r;

	if (st->is_brief)
		return 0;
	r = db_exec(st->db, "BEGIN IMMEDIATE", err);
	if (r < 0)
		return r;
	r = recorder_table_begin(st, err);
	if (r == 0)
		r = db_exec(st->db, "COMMIT", err);
	if (!sqlite3_get_autocommit(st->db))
		sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
	st->recorder_is_fresh = false;
	return r;
}

/* The caller holds the write lock. */
static int open_database(struct store *st, struct err *err)
{
	bool is_new;
	int r = db_file_make(st->path, err);

	if (r == 0)
		r = db_open(st->path, DB_WRITE, &st->db, err);
	if (r == 0)
		r = db_file_judge(st->db, &is_new, err);
	if (r == 0 && !is_new && !st->is_brief)
		r = store_examine(st, err);
	if (r == 0 && !is_new)
		r = side_store_is_blocked(st, err);
	if (r > 0)
		return err_set(err, ETXTBSY, "'%s' is in use by an older proctor", st->path);
	if (r == 0)
		r = set_up(st, is_new, err);
	return r < 0 ? r : begin_recording(st, err);
}

static void close_database(struct store *st)
{
	statements_done(st);
	db_close(st->db);
	st->db = NULL;
	recorder_table_undo(st);
	live_processes_reset(st);
	vec_reset(&st->jobs.list);
	vec_reset(&st->jobs.rows);
	map_reset(&st->jobs.index);
	st->snapshots.keyframe.id = st->snapshots.open_keyframe = st->snapshots.last = 0;
}

static int set_aside(struct store *st, struct err *err)
{
	char name[4096], why[sizeof err->msg];
	uint64_t now_ns = clock_boot_ns();
	int r;

	if (st->set_aside_ns && now_ns < st->set_aside_ns + DAMAGE_PAUSE_NS)
		return -err->code;
	snprintf(why, sizeof why, "%s", err->msg);
	r = db_file_set_aside(st->path, clock_wall_ns(), name, sizeof name, err);
	if (r < 0)
		return err_wrap(err, "set the damaged database aside");
	st->set_aside_ns = now_ns;
	report(st, "the database was damaged (%s); it was set aside as '%s' and a new one begun",
	       why, name);
	return 0;
}

static int connect_locked(struct store *st, struct err *err)
{
	int r = open_database(st, err);

	if (r != -EUCLEAN)
		return r;
	close_database(st);
	r = set_aside(st, err);
	return r < 0 ? r : open_database(st, err);
}

static int make_directory(const struct store *st, struct err *err)
{
	char path[sizeof st->path];
	char *slash;

	memcpy(path, st->path, sizeof path);
	slash = strrchr(path, '/');
	if (!slash || slash == path)
		return 0;
	*slash = '\0';
	return access(path, F_OK) == 0 ? 0 : io_mkdir_all(path, geteuid() == 0 ? 0750 : 0700, err);
}

static int connect_once(struct store *st, struct err *err)
{
	char path[4096];
	int r;

	db_file_beside(st->path, "write.lock", path, sizeof path);
	r = db_lock_open(&st->write, path, err);
	if (r < 0)
		return r;
	/* Without a store the job has no record at all, so wait as long as for the end of a job. */
	r = db_lock_take(&st->write, DB_LOCK_WRITING, TRANSACTION_END_NS);
	if (r < 0) {
		db_lock_close(&st->write);
		return err_set(err, -r, "lock '%s': %s", path,
		               r == -EBUSY ? "another recorder holds it" : strerror(-r));
	}
	r = connect_locked(st, err);
	if (r < 0)
		close_database(st);
	db_lock_drop(&st->write, DB_LOCK_WRITING);
	if (r < 0)
		db_lock_close(&st->write);
	return r;
}

/* Another version owns the database: we go on in one of our own, until it can be imported. */
static int connect_side(struct store *st, struct err *err)
{
	bool is_newer = err->code == EPROTONOSUPPORT;
	char path[sizeof st->path];
	int r = side_store_path(st->path, SCHEMA_VERSION, path, sizeof path, err);

	if (r < 0)
		return r;
	memcpy(st->path, path, sizeof st->path);
	st->is_side = true;
	r = make_directory(st, err);
	if (r == 0)
		r = connect_once(st, err);
	if (r == 0)
		report(st, "the store %s: recording into '%s' until it can be imported",
		       is_newer ? "was written by a newer proctor"
		                : "is in use by an older proctor, or open in another program",
		       st->path);
	return r;
}

/* Takes owner.lock unless we hold the one that is there. */
static int own_store(struct store *st, struct err *err)
{
	if (!st->is_owner || db_lock_is_in_place(&st->owner, st->owner_path))
		return 0;
	db_lock_close(&st->owner);
	return db_lock_own(&st->owner, st->owner_path, getpid(), err);
}

int store_connect(struct store *st, struct err *err)
{
	/* It may have been removed while we had it open. One that never existed is the caller's mistake. */
	int r = st->is_open ? make_directory(st, err) : 0;

	if (r == 0)
		r = own_store(st, err);
	if (r == 0)
		r = connect_once(st, err);
	return (r == -EPROTONOSUPPORT || r == -ETXTBSY) && !st->is_side ? connect_side(st, err) : r;
}

/* Closing is done under the lock, too; without it if its holder does not release it. */
static void disconnect(struct store *st)
{
	bool locked = st->write.fd >= 0 &&
	              db_lock_take(&st->write, DB_LOCK_WRITING, OPEN_PATIENCE_NS) == 0;

	close_database(st);
	if (locked)
		db_lock_drop(&st->write, DB_LOCK_WRITING);
	db_lock_close(&st->write);
}

int store_recover(struct store *st, int cause, struct err *err)
{
	struct err why = *err;
	int r;

	if (cause == -EUCLEAN && st->db) {
		if (db_lock_take(&st->write, DB_LOCK_WRITING, OPEN_PATIENCE_NS) < 0)
			return err_set(err, EBUSY, "'%s': held by another recorder", st->path);
		close_database(st);
		r = set_aside(st, err);
		db_lock_drop(&st->write, DB_LOCK_WRITING);
		if (r < 0)
			return r;
	}
	disconnect(st);
	r = store_connect(st, err);
	if (r == 0 && cause == -ESTALE)
		report(st, "%s; a new one was begun", why.msg);
	return r;
}

const char *store_path(const struct store *st)
{
	return st->path;
}

bool store_is_side(const struct store *st)
{
	return st->is_side;
}

int store_open(const struct store_options *o, struct store **ret, const char **ret_notice,
               struct err *err)
{
	cleanup(store_closep) struct store *st = xcalloc(1, sizeof *st);
	int r;

	st->write.fd = st->owner.fd = -1;
	st->cells = column_set(COLUMNS_CELLS);
	st->details = column_set(COLUMNS_DETAILS);
	st->totals = column_set(COLUMNS_TOTALS);
	st->kind = xstrdup(o->kind ? o->kind : "record");
	st->is_owner = o->is_owner;
	st->is_brief = o->is_brief;
	st->has_guard = !o->no_guard;
	st->has_rollback_journal = o->has_rollback_journal;
	st->interval_ns = o->interval_ns;
	st->while_updating = o->while_updating;
	st->updating_self = o->updating_self;
	if (snprintf(st->path, sizeof st->path, "%s", o->path) >= (int)sizeof st->path)
		return err_set(err, ENAMETOOLONG, "'%.100s…': name too long", o->path);
	db_file_beside(st->path, "owner.lock", st->owner_path, sizeof st->owner_path);
	r = store_connect(st, err);
	if (r < 0)
		return r;
	st->is_open = true;
	store_quota_open(st);
	*ret_notice = store_take_notice(st);
	*ret = TAKE_PTR(st);
	return 0;
}

/* Emptying the log takes two waits for the disk, and whatever stops us waits for 5 s at most. On a
 * slow disk there is one, or none when the last was slow: the log stays, whole, for the next one to
 * open the store. What must be durable is on disk already. */
static void end_log(struct store *st)
{
	struct err ignored;

	if (st->is_slow || transaction_sync(st, &ignored) < 0 || st->is_slow ||
	    db_lock_take(&st->write, DB_LOCK_WRITING, OPEN_PATIENCE_NS) < 0)
		return;
	transaction_checkpoint(st, true);
	db_lock_drop(&st->write, DB_LOCK_WRITING);
}

/* The totals of live processes, the ends of everything open, and the log into the database. A brief
 * recorder leaves its log. */
static void end_recording(struct store *st)
{
	const struct snapshots_put *s = &st->snapshots;
	struct err ignored;
	int r = transaction_begin(st, TRANSACTION_START_NS, &ignored);

	if (r < 0)
		return;
	r = live_processes_flush_totals(st, &st->processes.live, 0, &ignored);
	if (r == 0)
		r = recorder_table_end(st, s->last, s->last ? s->wall_ns : clock_wall_ns(),
		                       st->processes.live.len > 0, &ignored);
	r = transaction_end(st, r, &ignored);
	if (r == 0 && !st->is_brief)
		end_log(st);
}

void store_close(struct store *st)
{
	if (!st)
		return;
	if (st->db && st->recorder && !st->is_finished)
		end_recording(st);
	disconnect(st);
	db_lock_close(&st->owner);
	live_processes_done(&st->processes);
	vec_done(&st->jobs.list);
	vec_done(&st->jobs.rows);
	map_done(&st->jobs.index);
	map_done(&st->events.signals);
	map_done(&st->statements);
	store_quota_done(&st->quotas);
	free(st->kind);
	free(st);
}

const char *store_take_notice(struct store *st)
{
	if (!st->notice[0])
		return NULL;
	memcpy(st->taken_notice, st->notice, sizeof st->taken_notice);
	st->notice[0] = '\0';
	return st->taken_notice;
}
