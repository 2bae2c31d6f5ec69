/* SPDX-License-Identifier: MIT */
/* sheet_column.h - what a sheet used, as columns: of the whole sheet (filled in at its end), and of its
 * own part, to which the sums over the processes born in it are added. */
#pragma once

#include "base/buf.h"
#include "model/job.h"
#include "sqlite/db.h"
#include "schema/schema_format.h"

/* For each figure a column of this name and one more with "_q", its quality; with "own_" before, its
 * own part. */
extern const char *const sheet_columns[SHEET_FIGURE_COUNT];

enum { SHEET_COLUMNS_USE = 2 * SHEET_FIGURE_COUNT + 3 };

/* ", t.cpu_time_us, t.cpu_time_us_q, …, t.max_cpu, t.processes, t.lack": SHEET_COLUMNS_USE of them. */
void sheet_columns_select_use(struct buf *sql);
void sheet_columns_read_use(sqlite3_stmt *stmt, int column, struct sheet_use *ret);
/* The own part of sheet `t`, and the sums `s` over those born in it. They are joined, and the own part is
 * filled in. */
void sheet_columns_select_parts(struct buf *sql);
void sheet_columns_read_parts(sqlite3_stmt *stmt, int column, struct sheet *ret_own,
                              struct sheet_use *ret);
/* The stored integers of the figures and their qualities; COLUMN_ABSENT: not known. */
void sheet_columns_values(const struct sheet_use *use, int64_t ret[2 * SHEET_FIGURE_COUNT]);

/* Without those that are older than the sheet, which count with its own part. */
#define SHEET_BORN(value) "iif(p.final & 64, NULL, " value ")"
/* … and without those that are upper bounds, as in SCHEMA_SUMS_OF(). */
#define SHEET_OWN_PEAK(peak) "iif(p.final & 96, NULL, " peak ")"
/* Sums over the processes of job ?1 that were born in a sheet: without the one that opened it, and
 * without ours. `cpu` and `peak` are those of a process `p`, with what is joined as `latest`; `is_member`
 * is the condition on it. */
/* clang-format off */
#define SHEET_SUMS_OF(cpu, peak, latest, is_member)                                                \
	"SELECT p.sheet AS num, count(" SHEET_BORN("1") ") AS born,"                               \
	" count(*) - count(" SHEET_BORN("1") ") AS joined, sum(" SHEET_BORN(cpu) ") AS cpu,"                   \
	" iif(count(" SHEET_BORN(cpu) "), iif(min(" SHEET_BORN("coalesce(p.final, 0) & 1") "), 3, 2)," \
	" NULL) AS cpu_q,"                                                                         \
	" coalesce(max(" SHEET_OWN_PEAK(peak) "), max(" SHEET_BORN(peak) ")) AS peak,"             \
	" CASE WHEN NOT count(" SHEET_BORN(peak) ") THEN NULL"                                     \
	" WHEN NOT count(" SHEET_OWN_PEAK(peak) ") THEN 4"                                         \
	" WHEN NOT min(" SHEET_BORN("coalesce(p.final, 0) & 2") ") THEN 1"                         \
	" WHEN max(" SHEET_BORN(peak) ") > max(" SHEET_OWN_PEAK(peak) ") THEN 2"                   \
	" ELSE 3 END AS peak_q,"                                                                   \
	" sum(" SHEET_BORN("p.minor_faults") ") AS minor_faults,"                                  \
	" sum(" SHEET_BORN("p.major_faults") ") AS major_faults,"                                  \
	" max(" SHEET_BORN("p.max_cpu") ") AS max_cpu FROM process p JOIN sheet o ON o.job = ?1"   \
	" AND o.num = p.sheet AND o.pid IS NOT p.pid" latest " WHERE " is_member                 \
	SCHEMA_NOT_OURS SCHEMA_ONE_A_LIFE("job")
/* clang-format on */
static_assert(FINAL_JOINED == 64 && FINAL_BOUND == 32 && FINAL_CPU == 1 && FINAL_PEAK == 2,
              "the numbers above");
