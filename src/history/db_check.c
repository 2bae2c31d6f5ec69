/* SPDX-License-Identifier: MIT */
#include "history/db_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "history/sql_query.h"

struct verdict {
	char text[160]; /* "ok", or the first fault */
};

static int take_columns(void *self, const char *const *names, size_t n)
{
	(void)self, (void)names, (void)n;
	return 0;
}

static int take_row(void *self, const struct sql_value *values, size_t n)
{
	struct verdict *v = self;

	const char *text, *newline;

	if (!n || values[0].type != SQL_TEXT || v->text[0])
		return 0;
	text = values[0].text; /* ends in a NUL; the first line only names the database */
	newline = strrchr(text, '\n');
	snprintf(v->text, sizeof v->text, "%s", newline ? newline + 1 : text);
	return 0;
}

int db_check_file(const char *path, uint64_t limit_ns, struct err *err)
{
	struct verdict v = { 0 };
	const struct sql_sink sink = { .self = &v, .columns = take_columns, .row = take_row };
	int r = sql_query_run(path, "PRAGMA quick_check(1)", limit_ns, &sink, err);

	if (r < 0)
		return r;
	return strcmp(v.text, "ok") == 0
	               ? 0
	               : err_set(err, EUCLEAN, "'%s' is damaged: %s", path, v.text);
}
