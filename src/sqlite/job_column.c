/* SPDX-License-Identifier: MIT */
#include "sqlite/job_column.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define X(id, name) [JOB_COLUMN_##id] = (name),
	JOB_COLUMNS(X)
#undef X
};

struct metric job_column_metric(enum job_figure id)
{
	return (struct metric){ .key = job_figures[id].key, .unit = job_figures[id].unit };
}

const char *job_column_name(size_t column, char buf[COLUMN_NAME_MAX])
{
	struct metric m;
	size_t at;

	if (column < JOB_COLUMN_LIMITS)
		return names[column];
	if (column < JOB_COLUMN_FIGURES) {
		snprintf(buf, COLUMN_NAME_MAX, "limit_%s",
		         job_limit_name((enum job_limit)(column - JOB_COLUMN_LIMITS)));
		return buf;
	}
	at = column - JOB_COLUMN_FIGURES;
	m = job_column_metric((enum job_figure)(at / 2));
	column_name(&m, buf);
	if (at % 2)
		snprintf(buf + strlen(buf), COLUMN_NAME_MAX - strlen(buf), "_q");
	return buf;
}
