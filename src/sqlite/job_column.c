/* SPDX-License-Identifier: MIT */
#include "sqlite/job_column.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define X(id, name) [JOB_COLUMN_##id] = (name),
	JOB_COLUMNS(X)
#undef X
};

const char *job_column_name(size_t column, char buf[COLUMN_NAME_MAX])
{
	size_t at;

	if (column < JOB_COLUMN_LIMITS)
		return names[column];
	if (column < JOB_COLUMN_FIGURES) {
		snprintf(buf, COLUMN_NAME_MAX, "limit_%s",
		         job_limit_name((enum job_limit)(column - JOB_COLUMN_LIMITS)));
		return buf;
	}
	at = column - JOB_COLUMN_FIGURES;
	column_name(&job_figures[at / 2], buf);
	if (at % 2)
		snprintf(buf + strlen(buf), COLUMN_NAME_MAX - strlen(buf), "_q");
	return buf;
}
