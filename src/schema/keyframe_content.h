/* SPDX-License-Identifier: MIT */
/* keyframe_content.h - one keyframe in memory: every process in it at every snapshot of it. */
#pragma once

#include "base/vec.h"
#include "sqlite/column.h"
#include "sqlite/db.h"

/* A process: its row in the keyframe, and where its changes are. */
struct keyframe_content_row {
	int64_t proc, slot;
	int64_t cell[CELL_COUNT]; /* COLUMN_ABSENT: not known */
	int64_t first, last;      /* snapshots it was seen in; last is INT64_MAX while it lives */
	size_t changes_at, changes_len;
	size_t details_at, details_len;
};

struct keyframe_content_change {
	int64_t at;
	int64_t cell[CELL_COUNT]; /* all of them, also those that did not change */
};

struct keyframe_content_detail {
	int64_t at;
	int64_t value[DETAIL_METRICS];
};

struct keyframe_content_moment {
	int64_t snapshot, at;
	double time;
};

struct keyframe_content {
	int64_t keyframe, recorder;
	bool has_ended;                              /* nothing will be added to it */
	VEC(struct keyframe_content_row) rows;       /* ascending by slot */
	VEC(struct keyframe_content_change) changes; /* by row, then ascending by at */
	VEC(struct keyframe_content_detail) details;
	VEC(struct keyframe_content_moment) moments; /* ascending by at */
};

/* `ret` may have been used before (its memory is reused). -ENOENT: there is no such keyframe. */
int keyframe_content_load(sqlite3 *db, int64_t keyframe, struct keyframe_content *ret,
                          struct err *err) must_check;
void keyframe_content_done(struct keyframe_content *kf);

/* The values at that snapshot of the keyframe. */
const int64_t *keyframe_content_cells(const struct keyframe_content *kf,
                                      const struct keyframe_content_row *row, int64_t at);
const struct keyframe_content_detail *keyframe_content_details(
	const struct keyframe_content *kf, const struct keyframe_content_row *row,
	int64_t at); /* NULL: none */
