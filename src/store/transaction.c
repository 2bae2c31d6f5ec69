/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "store/handle.h"

#define WRITE_PATIENCE_NS (500 * NS_PER_MS)
#define CHECKPOINT_PAGES 1024 /* 4 MiB of log */
#define TRUNCATE_PAGES 16384  /* 64 MiB */

static bool has_moved(sqlite3 *db)
{
	int moved = 0;

	return sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
	       moved;
}

/* A commit with synchronous=FULL waits for the log to be on the disk; with NORMAL it does not,
 * and a power cut loses the latest commits, never integrity. */
static int set_durable(struct store *st, bool durable, struct err *err)
{
	int r;

	if (st->is_durable == durable)
		return 0;
	r = db_exec(st->db, durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", err);
	if (r == 0)
		st->is_durable = durable;
	return r;
}

static int begin(struct store *st, bool durable, struct err *err)
{
	int r;

	if (has_moved(st->db))
		return err_set(err, ESTALE, "'%s' was moved, removed or replaced", st->path);
	r = set_durable(st, durable, err);
	return r < 0 ? r : query_run(st, Q_BEGIN, err);
}

int transaction_begin(struct store *st, bool durable, struct err *err)
{
	int r = lock_take(&st->write, LOCK_WRITING, WRITE_PATIENCE_NS);

	if (r < 0)
		return err_set(err, -r, "lock '%s' for writing: %s", st->path,
		               r == -EBUSY ? "another recorder holds it" : strerror(-r));
	r = begin(st, durable, err);
	if (r < 0)
		lock_drop(&st->write, LOCK_WRITING);
	return r;
}

/* Passive: it takes what readers allow and never waits for them. Past 64 MiB the log is cut, if
 * no reader is in the way at that moment. The caller holds the write lock. */
void transaction_checkpoint(struct store *st, bool all)
{
	bool cut = all || st->wal_pages >= TRUNCATE_PAGES;
	int log = 0, done = 0;

	if (sqlite3_wal_checkpoint_v2(st->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &log, &done) ==
	            SQLITE_OK &&
	    log == done && cut) {
		sqlite3_busy_timeout(st->db, 0);
		sqlite3_wal_checkpoint_v2(st->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
		sqlite3_busy_timeout(st->db, 2000);
	}
	/* When a reader keeps the log from being reused, try again after as many pages more. */
	st->wal_due = st->wal_pages + CHECKPOINT_PAGES;
}

int transaction_end(struct store *st, int result, struct err *err)
{
	if (result == 0)
		result = query_run(st, Q_COMMIT, err);
	if (!sqlite3_get_autocommit(st->db))
		sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
	if (result == 0) {
		if (st->wal_pages < CHECKPOINT_PAGES)
			st->wal_due = CHECKPOINT_PAGES;
		if (st->wal_pages >= st->wal_due)
			transaction_checkpoint(st, false);
	}
	lock_drop(&st->write, LOCK_WRITING);
	return result;
}
