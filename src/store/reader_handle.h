/* SPDX-License-Identifier: MIT */
/* reader_handle.h - what a reader holds. For the files of store/ only. */
#pragma once

#include "store/image.h"
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
	struct columns columns;
	struct scene scenes[READER_SCENES];
	sqlite3_stmt *next, *get, *host, *cgroup, *jobs;
};

/* Every call stands between these two: one view of the database, and a limit of time. */
int reader_begin(struct reader *r, struct err *err) must_check;
void reader_end(struct reader *r);
void reader_forget_scenes(struct reader *r);
