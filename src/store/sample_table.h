/* SPDX-License-Identifier: MIT */
/* sample_table.h - rows of samples: a full one for the keyframe, and what differs from it later. */
#pragma once

#include "sqlite/column.h"
#include "sqlite/db.h"

struct store;

int64_t sample_table_id(int64_t keyframe, int64_t proc, int64_t at); /* of a change or detail */
int sample_table_put_base(struct store *st, int64_t keyframe, int64_t proc,
                          const int64_t cells[CELL_COUNT], struct err *err) must_check;
/* A cell that equals the keyframe's is left out. */
int sample_table_put_change(struct store *st, int64_t id, const int64_t base[CELL_COUNT],
                            const int64_t cells[CELL_COUNT], struct err *err) must_check;
/* The first change of a process in a keyframe: readers search for changes only from there on. */
int sample_table_set_changed(struct store *st, int64_t keyframe, int64_t proc, int64_t at,
                             struct err *err) must_check;
int sample_table_put_detail(struct store *st, int64_t id, const int64_t values[DETAIL_METRICS],
                            struct err *err) must_check;
int sample_table_put_range(struct store *st, int64_t id, const int64_t min[CELL_COUNT],
                           const int64_t max[CELL_COUNT], struct err *err) must_check;
