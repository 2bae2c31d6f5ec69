/* SPDX-License-Identifier: MIT */
/* reader_handle.h - what a reader holds. For the files of store/ only. */
#pragma once

#include "store/image.h"
#include "store/lock.h"
#include "store/reader.h"

/* Who a row of the image is; the texts are in the scene's. */
struct person {
	struct proc_id id;
	pid_t ppid;
	uint32_t uid, sheet;
	char comm[COMM_LEN];
	struct text_ref command, job_id;
};

/* A keyframe with its people, ready to show any of its snapshots. */
struct scene {
	struct image image;
	VEC(struct person) people; /* one a row of the image */
	VEC(uint32_t) by_pid;      /* rows, in the order of pids */
	struct buf text;
	int64_t data_version; /* of the database when it was loaded */
	uint64_t used;        /* when it was last used; 0: it is empty */
};

/* Snapshots of several recorders stand between each other. */
enum { READER_SCENES = 4 };

struct reader {
	sqlite3 *db;
	uint64_t deadline_ns, uses;
	const struct reader_leash *leash; /* NULL: none */
	struct columns columns;
	struct scene scenes[READER_SCENES];
	sqlite3_stmt *next, *get, *host, *cgroup, *jobs, *gpus, *gpu_uses;
	struct lock recorders; /* write.lock, to tell the living from the dead */
};

/* Every call stands between these two: one view of the database, and a limit of time. */
int reader_begin(struct reader *r, struct err *err) must_check;
void reader_end(struct reader *r);
void reader_forget_scenes(struct reader *r);

/* Whether the database has it: one that no recorder has brought up to date may lack some. */
bool reader_has_column(const struct reader *r, const char *table, const char *column);
/* start, the column of each metric (NULL where this store has none), end; once, into *ret. */
int reader_prepare_readings(struct reader *r, const char *start, const char *table,
                            const struct metric *metrics, size_t n, const char *end,
                            sqlite3_stmt **ret, struct err *err) must_check;
/* Values by their table, from this column on. */
void reader_read_readings(sqlite3_stmt *stmt, int column, const struct metric *metrics, size_t n,
                          uint64_t *present, uint64_t *value);
/* The columns of an event `e` and its process `p`, and a record from them. */
void reader_put_event_columns(const struct reader *r, struct buf *sql);
struct reader_event reader_event_of(sqlite3_stmt *stmt);
/* Hands each row of events to `fn`, and moves the cursor on; how many, or -errno. */
int reader_tell_events(sqlite3_stmt *stmt, struct reader_cursor *at, size_t limit,
                       reader_event_fn fn, void *self, struct err *err) must_check;
/* The job of this id, within reader_begin() and reader_end(): 1, or 0 when there is none. */
int reader_load_job(struct reader *r, const char *id, struct job *ret, struct err *err) must_check;
