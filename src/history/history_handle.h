/* SPDX-License-Identifier: MIT */
/* history_handle.h - what a reader holds. For the files of history/ only. */
#pragma once

#include "schema/keyframe_content.h"
#include "sqlite/db_lock.h"
#include "history/history.h"

/* The process of a row of the keyframe; its texts are in the keyframe_view's. */
struct process_identity {
	struct proc_id id;
	pid_t ppid;
	uint32_t uid, sheet;
	char comm[COMM_LEN];
	struct text_ref command;
	int64_t job; /* job.id; 0: none */
};

/* A keyframe with its identities, ready to show any of its snapshots. */
struct keyframe_view {
	struct keyframe_content content;
	VEC(struct process_identity) identities; /* one a row of the keyframe */
	VEC(uint32_t) by_pid;                    /* rows, in the order of pids */
	struct buf text;
	int64_t data_version; /* of the database when it was loaded */
	uint64_t used;        /* when it was last used; 0: it is empty */
};

/* Snapshots of several recorders stand between each other. */
enum { HISTORY_VIEWS = 4 };

struct history {
	sqlite3 *db;
	uint64_t deadline_ns, uses;
	const struct history_cancel *cancel; /* NULL: none */
	struct column_set cells, details;
	struct keyframe_view keyframe_views[HISTORY_VIEWS];
	sqlite3_stmt *next, *host, *beside, *cgroup, *jobs, *job, *gpus, *gpu_uses;
	struct db_lock recorders; /* write.lock, to see which recorders are alive */
	VEC(int64_t) job_rows;    /* job.id of each job of the snapshot that is being read */
};

/* Every call has a scope: one view of the database, and a limit of time. */
int history_begin(struct history *r, struct history **ret_scope, struct err *err) must_check;
void history_end(struct history *scope);
DEFINE_CLEANUP(struct history *, history_end)
/* The next of at most `limit` rows; counts them in *n. 1, 0 when there are no more, -errno. */
int history_next_row(sqlite3_stmt *stmt, size_t limit, int *n, struct err *err) must_check;
void history_forget_views(struct history *r);

/* For statements about one job: prepares the text and binds job.id to ?1 (0, when there is none). */
int history_prepare_for_job(struct history *r, const char *sql, struct job_key key,
                            sqlite3_stmt **ret, struct err *err) must_check;
/* SQL: whether process `p` belongs to job ?1, and the id of the job of `p`. Before version 5 the id
 * itself stood in its row. */
const char *history_is_member(const struct history *r);
const char *history_member_job_id(const struct history *r);
/* The job of this key, within a scope: 1, or 0 when there is none. */
int history_load_job(struct history *r, struct job_key key, struct job *ret, struct err *err)
	must_check;
/* history_job_syscalls() within a scope. */
int history_each_syscall(struct history *r, struct job_key key, uint32_t sheet,
                         int (*fn)(void *self, const struct syscall_record *s), void *self,
                         struct err *err) must_check;
