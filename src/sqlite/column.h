/* SPDX-License-Identifier: MIT */
/* column.h - how a metric is stored in a table: its column's name, and the integer of its value.
 *
 * Inside, memory is in bytes and time in ns. SQLite spends a byte for every 8 bits of a value,
 * so on disk they are in KiB ("rss_kib") and µs ("cpu_time_us"). The rest is stored as it is. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "model/event.h"
#include "model/metric.h"

#define COLUMN_NAME_MAX 64
#define COLUMN_ABSENT (-1) /* no metric is negative */

void column_name(const struct metric *m, char to[COLUMN_NAME_MAX]);
int64_t column_value(const struct metric *m, uint64_t value);
uint64_t column_inside(const struct metric *m, int64_t stored); /* the other way round */
/* For views: what converts the stored integer to the shown unit ("/1024.0"), */
const char *column_scale(const struct metric *m);
/* "t.rss_kib_min/1024.0", */
void column_put_shown(struct buf *sql, const struct metric *m, const char *table,
                      const char *suffix);
/* ", t.rss_kib_min/1024.0 AS rss_mb_min", */
void column_select(struct buf *sql, const struct metric *m, const char *table, const char *suffix);
/* and "CASE column WHEN 0 THEN 'first name' … END". */
void column_put_case(struct buf *sql, const char *column, const char *const *names, size_t n);

/* Process metrics that every record has are in every sample row ("cells"); the others are
 * details, stored for processes of jobs. Counters, and the peak, are also kept as totals of the
 * whole life on the process row. */
#define X(id, key, unit, kind, need, help) +(METRIC_##need == METRIC_ALWAYS)
enum { CELL_METRICS = 0 PROC_METRICS(X) };
#undef X
#define X(id, key, unit, kind, need, help) +(METRIC_##kind == METRIC_COUNTER)
enum { TOTAL_METRICS = 1 PROC_METRICS(X) };
#undef X
enum { DETAIL_METRICS = PROC_METRIC_COUNT - CELL_METRICS };

/* A sample: state, sheet (0: none; stores before version 6 have COLUMN_ABSENT), then those that have
 * a mean. */
enum {
	CELL_STATE,
	CELL_SHEET,
	CELL_CPU,
	CELL_FIRST_METRIC,
	CELL_COUNT = CELL_FIRST_METRIC + CELL_METRICS
};

/* The metrics that have a column each in some tables. */
enum column_group {
	COLUMNS_NONE,
	COLUMNS_CELLS,
	COLUMNS_DETAILS,
	COLUMNS_TOTALS,
	COLUMNS_HOST,
	COLUMNS_HOST_GAUGES,
	COLUMNS_CGROUP,
	COLUMNS_CGROUP_GAUGES,
	COLUMNS_GPU,
	COLUMNS_GPU_USE,
};

struct column_set {
	const struct metric *metrics; /* all of their table */
	size_t n;
	uint8_t id[64]; /* in `metrics`, ascending */
};

struct column_set column_set(enum column_group group);
/* The stored integer of each; COLUMN_ABSENT where the reading is not present. */
void column_set_values(const struct column_set *set, uint64_t present, const uint64_t *value,
                       int64_t *ret);

/* Which totals of a process are the kernel's final values: bits in process.final. */
enum {
	FINAL_CPU = 1,
	FINAL_PEAK = 2,
	FINAL_READ = 4,
	FINAL_WRITE = 8,
	FINAL_START = 16,
	FINAL_BOUND = 32,
	FINAL_JOINED = 64 /* older than its sheet, whose own part has what it did there */
};
int64_t column_final(const struct event *e);

/* The state letter as a small code (the common S costs nothing on disk), and back. */
int64_t column_state_code(char state);
char column_state_letter(int64_t code);
extern const char column_states[]; /* the letter of code n is at n */

/* Ratios are stored in thousandths: 0.1 %. */
int64_t column_ratio(double ratio); /* COLUMN_ABSENT for NAN */
double column_ratio_inside(int64_t stored);
