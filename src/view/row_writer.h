/* SPDX-License-Identifier: MIT */
/* row_writer.h - rows of values under column names, as a table, as JSON or as CSV.
 *
 *	row_writer_begin(r, names, n);  then per row n values and row_writer_end_row(r);  row_writer_end(r);
 *
 * JSON and CSV go to `out` at once: empty it between rows and memory does not grow with the answer.
 * A table needs all rows before the first line, so it has a ceiling. */
#pragma once

#include "base/json.h"
#include "view/table.h"

enum row_writer_format {
	ROW_WRITER_TABLE,
	ROW_WRITER_JSON, /* an array of objects */
	ROW_WRITER_CSV, /* RFC 4180 with a head and plain newlines; absent is an empty field, an empty
	                text is "" */
};

struct row_writer {
	enum row_writer_format format;
	struct style style; /* of a table */
	struct buf *out;

	/* Inside. */
	struct table table;
	struct table_column *columns;
	char **names;
	size_t n, at; /* columns; the one that is next */
	size_t rows;
	struct json json;
};

#define ROW_WRITER_CELLS_MAX ((size_t)1 << 20) /* of a table */

void row_writer_begin(struct row_writer *r, const char *const *names, size_t n);
void row_writer_null(struct row_writer *r);
void row_writer_i64(struct row_writer *r, int64_t v);
void row_writer_real(struct row_writer *r, double v); /* not finite: absent */
void row_writer_text(struct row_writer *r, const char *text, size_t n);
void row_writer_str(struct row_writer *r, const char *text);             /* NULL: absent */
void row_writer_blob(struct row_writer *r, const void *bytes, size_t n); /* shown in hex */
bool row_writer_end_row(struct row_writer *r); /* false: a table can hold no more rows */
void row_writer_end(struct row_writer *r);
void row_writer_done(struct row_writer *r);
