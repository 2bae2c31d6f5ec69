/* SPDX-License-Identifier: MIT */
/* query_result.h - the answer of a query, row after row, as a table, as JSON or as CSV.
 *
 *	query_result_begin(r, names, n);  then per row n values and query_result_end_row(r);  query_result_end(r);
 *
 * JSON and CSV go to `out` at once: empty it between rows and memory does not grow with the answer.
 * A table needs all rows before the first line, so it has a ceiling. */
#pragma once

#include "base/json.h"
#include "view/table.h"

enum query_result_format {
	QUERY_RESULT_TABLE,
	QUERY_RESULT_JSON, /* an array of objects */
	QUERY_RESULT_CSV, /* RFC 4180 with a head and plain newlines; absent is an empty field, an empty
	                text is "" */
};

struct query_result {
	enum query_result_format format;
	struct style style; /* of a table */
	bool escapes;       /* CSV for a terminal: text is made safe first */
	struct buf *out;

	/* Inside. */
	struct table table;
	struct table_column *columns;
	char **names;
	size_t n, at; /* columns; the one that is next */
	size_t rows;
	struct json json;
};

#define QUERY_RESULT_CELLS_MAX ((size_t)1 << 20) /* of a table */

void query_result_begin(struct query_result *r, const char *const *names, size_t n);
void query_result_null(struct query_result *r);
void query_result_i64(struct query_result *r, int64_t v);
void query_result_real(struct query_result *r, double v); /* not finite: absent */
void query_result_text(struct query_result *r, const char *text, size_t n);
void query_result_str(struct query_result *r, const char *text);             /* NULL: absent */
void query_result_blob(struct query_result *r, const void *bytes, size_t n); /* shown in hex */
bool query_result_end_row(struct query_result *r); /* false: a table can hold no more rows */
void query_result_end(struct query_result *r);
void query_result_done(struct query_result *r);
