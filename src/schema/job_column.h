/* SPDX-License-Identifier: MIT */
/* job_column.h - the columns of the job table, in the order in which they are written and read: those
 * of the members of struct job; limits and figures, which follow their tables in model/job.h, a figure
 * with its quality beside it, in NAME_q; and the recorder. */
#pragma once

#include "model/job.h"
#include "sqlite/column.h"
#include "sqlite/record_column.h"

enum {
	JOB_COLUMN_LARGEST = 42, /* with its name: they change with the figures */
	JOB_COLUMN_LIMITS = 44,  /* the columns before are those of members */
	JOB_COLUMN_FIGURES = JOB_COLUMN_LIMITS + JOB_LIMIT_COUNT, /* value, quality, value, … */
	JOB_COLUMN_RECORDER = JOB_COLUMN_FIGURES + 2 * JOB_FIGURE_COUNT,
	JOB_COLUMN_COUNT,
};

extern const struct field job_columns[JOB_COLUMN_LIMITS];

/* In `buf`, or a literal. */
const char *job_column_name(size_t column, char buf[COLUMN_NAME_MAX]);
