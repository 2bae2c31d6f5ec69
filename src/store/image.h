/* SPDX-License-Identifier: MIT */
/* image.h - one keyframe in memory: every process in it at every snapshot of it. */
#pragma once

#include "base/vec.h"
#include "store/column.h"
#include "store/db.h"

/* A process: what the keyframe says, and where its changes are. */
struct image_row {
	int64_t proc, slot;
	int64_t cell[CELL_COUNT]; /* COLUMN_ABSENT: not known */
	int64_t first, last;      /* snapshots it was seen in; last is INT64_MAX while it lives */
	size_t changes_at, changes_len;
	size_t details_at, details_len;
};

struct image_change {
	int64_t at;
	int64_t cell[CELL_COUNT]; /* all of them, also those that did not change */
};

struct image_detail {
	int64_t at;
	int64_t value[DETAIL_METRICS];
};

struct image_moment {
	int64_t snapshot, at;
	double time;
};

struct image {
	int64_t keyframe, recorder;
	bool has_ended;                   /* nothing will be added to it */
	VEC(struct image_row) rows;       /* ascending by slot */
	VEC(struct image_change) changes; /* by row, then ascending by at */
	VEC(struct image_detail) details;
	VEC(struct image_moment) moments; /* ascending by at */
};

/* `ret` may be used before (its memory is used again). -ENOENT: there is no such keyframe. */
int image_load(sqlite3 *db, int64_t keyframe, struct image *ret, struct err *err) must_check;
void image_done(struct image *im);

/* What was the case at that snapshot of the keyframe. */
const int64_t *image_cells(const struct image *im, const struct image_row *row, int64_t at);
const struct image_detail *image_details(const struct image *im, const struct image_row *row,
                                         int64_t at);               /* NULL: none */
struct image_row *image_find(const struct image *im, int64_t slot); /* NULL: none */
