/* SPDX-License-Identifier: MIT */
/* store_handle.h - what a store handle holds: the connection, and what each table remembers. For the
 * files of store/ only. */
#pragma once

#include "base/clock.h"
#include "base/map.h"
#include "model/snapshot_scope.h"
#include "sqlite/db.h"
#include "sqlite/db_lock.h"
#include "schema/schema_format.h"
#include "store/job_table.h"
#include "store/live_processes.h"
#include "store/snapshot_table.h"
#include "store/statement.h"
#include "store/store.h"
#include "store/store_table.h"
#include "store/store_quota.h"

struct event_flow {
	double nonjob_processes; /* lives outside jobs that were stored: a leaky bucket */
	uint64_t nonjob_lost;
	struct map
		signals; /* of one snapshot: hash of process, signal and sender → index << 32 | n */
	uint64_t cpu_ns; /* CPU time that the events of snapshots took */
};

struct retention_run {
	struct store_retention keep;
	uint64_t now_ns; /* what "now" is for this run, on the wall clock */
	int stage;       /* 0: none is under way */
	int64_t cursor;
};

struct store {
	char *kind;
	void (*while_updating)(void *self); /* as in struct store_options */
	void *updating_self;
	bool is_owner, is_brief, has_guard, has_rollback_journal;
	bool is_side; /* the path is that of a side store */
	bool is_open; /* store_open() has returned it: the directory was there */
	uint64_t interval_ns;
	char path[4000];
	char notice[1024], taken_notice[1024]; /* for the caller */
	char own_event[1024];                  /* the same, to be stored */
	struct db_lock write, owner;
	char owner_path[4096];
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
	uint64_t sync_due_ns;   /* monotonic: starts of jobs that are not on disk; 0: none */

	struct live_processes processes;
	struct jobs_seen jobs;
	struct snapshots_put snapshots;
	struct event_flow events;
	struct retention_run retention;
	struct store_quotas quotas;
};

/* store_open.c */
/* Where a reader met damage, looks for it; -EUCLEAN: there is. */
int store_examine(struct store *st, struct err *err) must_check;
int store_connect(struct store *st, struct err *err) must_check;
/* After -EUCLEAN or -ESTALE: sets the damaged file aside and opens anew. */
int store_recover(struct store *st, int cause, struct err *err) must_check;

/* event_table.c: what could not be stored, as events. */
int event_table_put_gap(struct store *st, const struct store_gap *gap, struct err *err) must_check;
/* … and what was done to the store. */
int event_table_put_note(struct store *st, const char *text, struct err *err) must_check;

/* sheet_table.c: the sums of all sheets of a job that ended. The last counters of a process may come
 * after the end of its sheet. */
int sheet_table_sum_all(struct store *st, int64_t job, struct err *err) must_check;

/* job_sample_table.c: the shares of CPU of a job that ended add up to its total, and are possible. */
int job_sample_table_settle(struct store *st, const struct job *job, int64_t row, struct err *err)
	must_check;

/* gpu_table.c: the columns of `snapshots` about GPUs, in the order of their indices, of a snapshot `s`. */
void gpu_table_put_snapshot_columns(struct buf *sql);

/* syscall_table.c: syscall_counts and syscall_time_pct, of the row `t` of a process, sheet or job. */
void syscall_table_put_columns(struct buf *sql, const char *t);

/* retention.c, for the tables' retain(): runs a DELETE of at most ?2 rows older than ?1. 1: there may be
 * more. */
int retention_delete_before(struct store *st, const char *sql, double before, struct err *err)
	must_check;
#define RETENTION_ROWS 500 /* per step */

/* downsample.c, in a transaction: the keyframe's span becomes one-minute means. */
int downsample_keyframe(struct store *st, int64_t keyframe, struct err *err) must_check;
