/* SPDX-License-Identifier: MIT */
/* result.h - the answer of a query, row after row, as a table, as JSON or as CSV.
 *
 *	result_begin(r, names, n);  then per row n values and result_end_row(r);  result_end(r);
 *
 * JSON and CSV go to `out` at once: empty it between rows and memory does not grow with the answer.
 *A table needs all rows before the first line, so it has a ceiling. */
#pragma once

#include "base/json.h"
#include "view/table.h"

enum result_format {
	RESULT_TABLE,
	RESULT_JSON, /* an array of objects */
	RESULT_CSV,  /* RFC 4180 with a head and plain newlines; absent is an empty field, an empty
	                text is "" */
};

struct result {
	enum result_format format;
	struct style style;
	bool escapes; /* CSV for people's eyes too: text is made safe first */
	struct buf *out;

	/* Inside. */
	struct table table;
	struct table_column *columns;
	char **names;
	size_t n, at; /* columns; the one that is next */
	size_t rows;
	struct json json;
};

#define RESULT_CELLS_MAX ((size_t)1 << 20) /* of a table */

void result_begin(struct result *r, const char *const *names, size_t n);
void result_null(struct result *r);
void result_i64(struct result *r, int64_t v);
void result_real(struct result *r, double v);
void result_text(struct result *r, const char *text, size_t n);
void result_blob(struct result *r, const void *bytes, size_t n); /* shown in hex */
bool result_end_row(struct result *r); /* false: a table can hold no more rows */
void result_end(struct result *r);
void result_done(struct result *r);
