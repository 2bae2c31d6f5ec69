/* SPDX-License-Identifier: MIT */
/* store_handle.h - what a store handle holds: the connection, and what each table remembers. For the
 * files of store/ only. */
#pragma once

#include "model/snapshot_scope.h"
#include "sqlite/db.h"
#include "sqlite/db_lock.h"
#include "sqlite/schema_format.h"
#include "store/event_table.h"
#include "store/job_table.h"
#include "store/live_processes.h"
#include "store/retention.h"
#include "store/snapshot_table.h"
#include "store/statement.h"
#include "store/store.h"
#include "store/store_table.h"
#include "store/transaction.h"

struct store {
	char *kind;
	bool is_owner, is_brief, has_guard;
	bool is_side; /* the path is that of a side store */
	bool is_open; /* store_open() has returned it: the directory was there */
	uint64_t interval_ns;
	char path[4000];
	char notice[1024], taken_notice[1024]; /* for the caller */
	char own_event[1024];                  /* the same, to be stored */
	struct db_lock write, owner;
	sqlite3 *db;
	struct map statements; /* const struct statement * → sqlite3_stmt * */
	struct column_set cells, details, totals;
	int64_t recorder;       /* 0: its row is yet to be made */
	bool recorder_is_fresh; /* its row is part of the current transaction */
	bool is_finished;       /* its row has its end, and nothing was written since */
	char boot_id[37];       /* as the recorder's row has it */
	uint64_t set_aside_ns;  /* boot clock, of the latest damage; 0: never */
	int wal_pages, wal_due; /* frames in the log; when to checkpoint */
	bool is_on_disk;        /* the last commit */
	bool is_slow;           /* the disk, the last time we waited for it */

	struct live_processes processes;
	struct jobs_seen jobs;
	struct snapshots_put snapshots;
	struct event_flow events;
	struct retention_run retention;
};

/* store_open.c */
int store_connect(struct store *st, struct err *err) must_check;
void store_disconnect(struct store *st);
/* After -EUCLEAN or -ESTALE: sets the damaged file aside and opens anew. */
int store_recover(struct store *st, int cause, struct err *err) must_check;
