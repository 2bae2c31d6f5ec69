/* SPDX-License-Identifier: MIT */
/* snapshot_table.h - rows of snapshots and of keyframes, the spans that share one full set. */
#pragma once

#include "model/snapshot.h"
#include "sqlite/db.h"

struct store;

struct keyframe {
	int64_t id; /* 0: none is open */
	int64_t at; /* snapshots in it */
	size_t changes;
	uint64_t minute; /* wall clock, of its latest snapshot */
};

struct snapshots_put {
	struct keyframe keyframe;
	int64_t open_keyframe;     /* the one to be ended in the table; 0: none */
	int64_t next;              /* id of the snapshot of the current transaction */
	int64_t last;              /* … of the latest one that was stored by us; 0: none */
	uint64_t wall_ns, boot_ns; /* its times */
};

void snapshot_table_commit(struct store *st, const struct snapshot *snap);
/* The new keyframe.id, or -errno. `resolution` 0: full. */
int64_t snapshot_table_begin_keyframe(struct store *st, int64_t recorder, int64_t resolution,
                                      int64_t first, double begins, struct err *err) must_check;
int snapshot_table_end_keyframe(struct store *st, int64_t keyframe, int64_t last, double ends,
                                struct err *err) must_check;
/* Into the keyframe of means, as its snapshot number `at`. */
int snapshot_table_move(struct store *st, int64_t snapshot, int64_t keyframe, int64_t at,
                        int64_t resolution, struct err *err) must_check;
/* SQL that closes the keyframes of recorder ?1. */
extern const char snapshot_table_end_keyframes[];
