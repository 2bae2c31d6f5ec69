/* SPDX-License-Identifier: MIT */
/* sheet_table.h - rows of sheets. */
#pragma once

#include "sqlite/db.h"

struct store;

/* The sums of all sheets of a job that ended: the last counters of a process may come after the end
 * of its sheet. */
int sheet_table_sum_all(struct store *st, int64_t job, struct err *err) must_check;
