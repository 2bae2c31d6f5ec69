/* SPDX-License-Identifier: MIT */
/* record_column.h - records as rows: a field table whose keys are columns or expressions of SQL.
 *
 * A number of nanoseconds is a wall clock time (REAL, in seconds), or microseconds where the key ends
 * in "_us". An ORDINAL of 0 and an empty TEXT are NULL. What is read into a STRING is valid until the
 * next step. Amounts are in the unit that column.h stores. A FIGURE that is read counts as sampled, if the
 * field is, else as at least known; the caller may know its quality better. */
#pragma once

#include "base/buf.h"
#include "model/field.h"
#include "sqlite/db.h"

/* "pid, start_ticks, …" */
void record_columns_select(struct buf *sql, const struct field_table *table);
void record_columns_read(sqlite3_stmt *stmt, int column, const struct field_table *table,
                         void *record);
void record_columns_bind(sqlite3_stmt *stmt, int index, const struct field_table *table,
                         const void *record);
/* A hash of all values that would be bound. */
uint64_t record_columns_hash(uint64_t hash, const struct field_table *table, const void *record);
