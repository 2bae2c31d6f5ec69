/* SPDX-License-Identifier: MIT */
/* One keyframe's span becomes one-minute means with their extremes. The first snapshot of each
 * minute stays, with its id, its time and its counters, and stands for the minute: its gauges
 * and cells become means over all snapshots of the minute, and a process that lived in any of
 * them is in it. Such minutes are collected in keyframes of their own, an hour or so in each,
 * sparse like the others. The rows of samples are handled here, because they decide which minutes
 * fit into one keyframe; all other tables have statements of their own. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "schema/keyframe_content.h"
#include "store/process_table.h"
#include "store/sample_table.h"
#include "store/store_handle.h"

#define RESOLUTION_S 60
#define MINUTES_PER_KEYFRAME 60

/* A process in the hour's keyframe. */
struct mean_row {
	int64_t proc;
	int64_t base[CELL_COUNT], last[CELL_COUNT];
	bool has_detail, has_changed;
};

struct downsampler {
	struct store *st;
	struct keyframe_content from, into;
	struct map by_slot; /* → index in rows */
	VEC(struct mean_row) rows;
	int64_t keyframe, at; /* the hour's, and the next minute in it */
};

/* A minute as moments of the keyframe. */
struct span {
	size_t from, to;
	int64_t snapshot; /* the first */
};

/* One process over a minute. */
struct mean {
	int64_t cell[CELL_COUNT], min[CELL_COUNT], max[CELL_COUNT];
	size_t seen;
};

static void fold_cells(const struct keyframe_content *kf, const struct keyframe_content_row *row,
                       const struct span *m, struct mean *ret)
{
	int64_t sum[CELL_COUNT] = { 0 }, n[CELL_COUNT] = { 0 };
	uint32_t states[64] = { 0 };

	*ret = (struct mean){ 0 };
	for (size_t i = m->from; i < m->to; i++) {
		const struct keyframe_content_moment *moment = &kf->moments.at[i];
		const int64_t *cells = keyframe_content_cells(kf, row, moment->at);

		if (moment->snapshot < row->first || moment->snapshot > row->last)
			continue;
		ret->seen++;
		states[cells[CELL_STATE] & 63]++;
		ret->cell[CELL_SHEET] = cells[CELL_SHEET]; /* the last one */
		for (int c = CELL_CPU; c < CELL_COUNT; c++) {
			if (cells[c] < 0)
				continue;
			ret->min[c] = n[c] ? MIN(ret->min[c], cells[c]) : cells[c];
			ret->max[c] = n[c] ? MAX(ret->max[c], cells[c]) : cells[c];
			sum[c] += cells[c];
			n[c]++;
		}
	}
	for (int c = CELL_CPU; c < CELL_COUNT; c++)
		ret->cell[c] = n[c] ? (sum[c] + n[c] / 2) / n[c] : COLUMN_ABSENT;
	for (int64_t s = 1; s < 64; s++) /* the state it was in most of the time */
		if (states[s] > states[ret->cell[CELL_STATE]])
			ret->cell[CELL_STATE] = s;
}

/* Loads the recorder's latest hour, if it has room for more. */
static int find_hour(struct downsampler *d, struct err *err)
{
	sqlite3 *db = d->st->db;
	int64_t hour = 0;
	int r = db_int(db,
	               "SELECT id FROM keyframe WHERE recorder = ? AND resolution IS NOT NULL"
	               " ORDER BY last DESC LIMIT 1",
	               BINDS(bind_int(d->from.recorder)), &hour, err);

	if (r < 0 || !hour)
		return r;
	r = keyframe_content_load(db, hour, &d->into, err);
	if (r < 0)
		return r;
	d->at = d->into.moments.at[d->into.moments.len - 1].at + 1;
	if (d->at >= MINUTES_PER_KEYFRAME)
		return 0;
	d->keyframe = d->into.keyframe;
	vec_each(&d->into.rows, row) {
		struct mean_row *mean = vec_push(&d->rows, PROCS_MAX);

		if (!mean)
			return err_set(err, EUCLEAN, "a keyframe with too many processes");
		mean->proc = row->proc;
		mean->has_detail = row->details_len > 0;
		mean->has_changed = row->changes_len > 0;
		memcpy(mean->base, row->cell, sizeof mean->base);
		memcpy(mean->last, keyframe_content_cells(&d->into, row, SCHEMA_ATS),
		       sizeof mean->last);
		map_put(&d->by_slot, (uint64_t)row->slot, d->rows.len - 1);
	}
	return 0;
}

static int begin_hour(struct downsampler *d, const struct span *m, struct err *err)
{
	int64_t id = snapshot_table_begin_keyframe(d->st, d->from.recorder, RESOLUTION_S,
	                                           m->snapshot, d->from.moments.at[m->from].time,
	                                           err);

	if (id < 0)
		return (int)id;
	d->keyframe = id;
	d->at = 0;
	map_reset(&d->by_slot);
	vec_reset(&d->rows);
	return 0;
}

/* Whether some process of the minute has the slot of another one in this hour: a million
 * processes later that can be. */
static bool has_conflict(const struct downsampler *d, const struct span *m)
{
	vec_each(&d->from.rows, row) {
		uint64_t at;

		if (row->first <= d->from.moments.at[m->to - 1].snapshot &&
		    row->last >= m->snapshot && map_get(&d->by_slot, (uint64_t)row->slot, &at) &&
		    d->rows.at[at].proc != row->proc)
			return true;
	}
	return false;
}

static int put_mean(struct downsampler *d, const struct keyframe_content_row *row,
                    const struct mean *mean, struct mean_row **ret, struct err *err)
{
	struct mean_row *known;
	uint64_t at;
	int r = 0;

	if (map_get(&d->by_slot, (uint64_t)row->slot, &at)) {
		*ret = known = &d->rows.at[at];
		if (!memcmp(known->last, mean->cell, sizeof known->last))
			return 0;
		memcpy(known->last, mean->cell, sizeof known->last);
		if (!known->has_changed)
			r = sample_table_set_changed(d->st, d->keyframe, row->proc, d->at, err);
		if (r < 0)
			return r;
		known->has_changed = true;
		return sample_table_put_change(d->st,
		                               sample_table_id(d->keyframe, row->proc, d->at),
		                               known->base, mean->cell, err);
	}
	*ret = known = vec_push(&d->rows, PROCS_MAX);
	if (!known)
		return err_set(err, EUCLEAN, "a keyframe with too many processes");
	known->proc = row->proc;
	memcpy(known->base, mean->cell, sizeof known->base);
	memcpy(known->last, mean->cell, sizeof known->last);
	map_put(&d->by_slot, (uint64_t)row->slot, d->rows.len - 1);
	return sample_table_put_base(d->st, d->keyframe, row->proc, mean->cell, err);
}

static int put_row(struct downsampler *d, struct keyframe_content_row *row, const struct span *m,
                   struct err *err)
{
	int64_t id = sample_table_id(d->keyframe, row->proc, d->at);
	const struct keyframe_content_detail *detail;
	struct mean_row *known = NULL;
	struct mean mean;
	int r = 0;

	fold_cells(&d->from, row, m, &mean);
	if (!mean.seen)
		return 0;
	if (row->first >
	    m->snapshot) { /* born within the minute: it is in the first snapshot now */
		row->first = m->snapshot;
		r = process_table_set_first(d->st, row->proc, m->snapshot, err);
	}
	if (r == 0)
		r = put_mean(d, row, &mean, &known, err);
	for (int c = CELL_CPU; r == 0 && c < CELL_COUNT; c++)
		if (mean.min[c] < mean.max[c]) {
			r = sample_table_put_range(d->st, id, mean.min, mean.max, err);
			break;
		}
	detail = keyframe_content_details(&d->from, row, d->from.moments.at[m->to - 1].at);
	if (r < 0 || !known || !detail ||
	    (known->has_detail && detail->at < d->from.moments.at[m->from].at))
		return r; /* none, or none since the last one that was kept */
	known->has_detail = true;
	return sample_table_put_detail(d->st, id, detail->value, err);
}

/* The minute's snapshot moves into the hour's keyframe. */
static int move_snapshot(struct downsampler *d, const struct span *m, struct err *err)
{
	int r = snapshot_table_move(d->st, m->snapshot, d->keyframe, d->at, RESOLUTION_S, err);

	return r < 0 ? r
	             : snapshot_table_end_keyframe(d->st, d->keyframe, m->snapshot,
	                                           d->from.moments.at[m->to - 1].time, err);
}

static int put_minute(struct downsampler *d, const struct span *m, struct err *err)
{
	const struct bind minute[] = { bind_int(m->snapshot),
		                       bind_int(d->from.moments.at[m->to - 1].snapshot),
		                       bind_int(d->from.keyframe) };
	int r = 0;

	if (!d->keyframe || d->at >= MINUTES_PER_KEYFRAME || has_conflict(d, m))
		r = begin_hour(d, m, err);
	for (size_t i = 0; i < store_table_count; i++)
		for (const struct statement *q = store_tables[i]->downsample; r == 0 && q && q->sql;
		     q++)
			r = statement_run(d->st, q, minute, ARRAY_LEN(minute), err);
	for (size_t i = 0; r == 0 && i < d->from.rows.len; i++)
		r = put_row(d, &d->from.rows.at[i], m, err);
	if (r == 0)
		r = move_snapshot(d, m, err);
	d->at++;
	return r;
}

static int put_minutes(struct downsampler *d, struct err *err)
{
	size_t n = d->from.moments.len;
	struct span m = { 0 };
	int r = find_hour(d, err);

	for (; r == 0 && m.from < n; m.from = m.to) {
		double minute = floor(d->from.moments.at[m.from].time / RESOLUTION_S);

		m.to = m.from + 1;
		while (m.to < n && floor(d->from.moments.at[m.to].time / RESOLUTION_S) == minute)
			m.to++;
		m.snapshot = d->from.moments.at[m.from].snapshot;
		r = put_minute(d, &m, err);
	}
	return r;
}

int downsample_keyframe(struct store *st, int64_t keyframe, struct err *err)
{
	struct downsampler d = { .st = st };
	int r = keyframe_content_load(st->db, keyframe, &d.from, err);

	if (r == 0)
		r = put_minutes(&d, err);
	keyframe_content_done(&d.from);
	keyframe_content_done(&d.into);
	map_done(&d.by_slot);
	vec_done(&d.rows);
	return r;
}
