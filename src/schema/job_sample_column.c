/* SPDX-License-Identifier: MIT */
#include "schema/job_sample_column.h"

#define RECORD struct job_sum
#define COLUMN(column, type, member, unit_, ...)                                                   \
	{ column, FIELD(type, member), .unit = UNIT_##unit_, .is_sampled = true },
#define NONE(...)
static const struct field columns[] = { JOB_SAMPLE_COLUMNS(COLUMN, NONE) };
const struct field_table job_sample_columns = FIELD_TABLE(columns);
