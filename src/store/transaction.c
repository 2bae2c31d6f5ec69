/* SPDX-License-Identifier: MIT */
#include "store/transaction.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/recorder_table.h"
#include "store/store_handle.h"

static const struct statement begin_statement = { "BEGIN IMMEDIATE" };
static const struct statement commit_statement = { "COMMIT" };

#define CHECKPOINT_PAGES 1024 /* 4 MiB of log */
/* The first to open a store reads the whole log, at some 2 µs per page; a short job leaves two
 * dozen. */
#define CHECKPOINT_PAGES_BRIEF 256
#define SLOW_NS NS_PER_S
#define TRUNCATE_PAGES 16384 /* 64 MiB */

static bool has_moved(sqlite3 *db)
{
	int moved = 0;

	return sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
	       moved;
}

static int begin(struct store *st, struct err *err)
{
	int r;

	if (has_moved(st->db))
		return err_set(err, ESTALE, "'%s' was moved, removed or replaced", st->path);
	if (st->is_owner && !db_lock_is_in_place(&st->owner, st->owner_path))
		return err_set(err, ESTALE, "'%s' was moved, removed or replaced", st->owner_path);
	r = statement_run(st, &begin_statement, NULL, 0, err);
	if (r == 0 && !st->recorder)
		r = recorder_table_begin(st, err);
	return r;
}

static void roll_back(struct store *st)
{
	if (!sqlite3_get_autocommit(st->db))
		sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
	if (st->recorder_is_fresh)
		recorder_table_undo(st);
	st->recorder_is_fresh = false;
}

int transaction_begin(struct store *st, uint64_t patience_ns, struct err *err)
{
	int r = st->db ? 0 : store_connect(st, err);

	if (r < 0)
		return r;
	r = db_lock_take(&st->write, DB_LOCK_WRITING, patience_ns);
	if (r < 0)
		return err_set(err, -r, "lock '%s' for writing: %s", st->path,
		               r == -EBUSY ? "another recorder holds it" : strerror(-r));
	r = begin(st, err);
	if (r < 0) {
		roll_back(st);
		db_lock_drop(&st->write, DB_LOCK_WRITING);
		return r;
	}
	st->is_finished = st->is_on_disk = false;
	return 0;
}

static int checkpoint_pages(const struct store *st)
{
	return st->is_brief ? CHECKPOINT_PAGES_BRIEF : CHECKPOINT_PAGES;
}

/* Passive: it moves what readers allow and never waits for them. Above 64 MiB the log is truncated,
 * if no reader is in the way at that moment; by a brief recorder always, because it ends before it
 * could write from the start of the log again, and the next one would not know that it may. The caller
 * holds the write lock. */
void transaction_checkpoint(struct store *st, bool all)
{
	bool cut = all || st->is_brief || st->wal_pages >= TRUNCATE_PAGES;
	int log = 0, done = 0;
	uint64_t begin_ns = clock_mono_ns();

	st->is_on_disk = sqlite3_wal_checkpoint_v2(st->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &log,
	                                           &done) == SQLITE_OK &&
	                 log == done;
	if (st->is_on_disk && cut) {
		sqlite3_busy_timeout(st->db, 0);
		sqlite3_wal_checkpoint_v2(st->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
		sqlite3_busy_timeout(st->db, 2000);
	}
	st->is_slow = clock_mono_ns() - begin_ns > 2 * SLOW_NS; /* it syncs both files */
	/* When a reader keeps the log from being reused, try again after as many pages more. */
	st->wal_due = st->wal_pages + checkpoint_pages(st);
}

static void checkpoint_when_due(struct store *st)
{
	if (st->wal_pages < checkpoint_pages(st))
		st->wal_due = checkpoint_pages(st);
	if (st->wal_pages >= st->wal_due)
		transaction_checkpoint(st, false);
}

int transaction_end(struct store *st, int result, struct err *err)
{
	if (result == 0)
		result = statement_run(st, &commit_statement, NULL, 0, err);
	if (result < 0)
		roll_back(st);
	else
		checkpoint_when_due(st);
	st->recorder_is_fresh = false;
	db_lock_drop(&st->write, DB_LOCK_WRITING);
	return result;
}

/* With synchronous=FULL SQLite would wait for the disk within the transaction. This way others may
 * write meanwhile, and hundreds of jobs that end at once wait together instead of in a row. If
 * another recorder has moved the log into the database by now, it has waited for the disk itself.
 *
 * Not by SQLite's own call: that would sync the directory as well, each time. It does so when it
 * begins a log. */
int transaction_sync(struct store *st, struct err *err)
{
	char path[sizeof st->path + 8];
	cleanup(closep) int fd = -1;
	uint64_t begin_ns = clock_mono_ns();

	if (st->is_on_disk || st->has_rollback_journal) /* a commit there waits for the disk */
		return 0;
	snprintf(path, sizeof path, "%s-wal", st->path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fdatasync(fd) < 0)
		return err_set(err, errno, "bring '%s' to the disk: %s", path, strerror(errno));
	st->is_on_disk = true;
	st->is_slow = clock_mono_ns() - begin_ns > SLOW_NS;
	return 0;
}
