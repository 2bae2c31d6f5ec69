/* SPDX-License-Identifier: MIT */
#include "view/row_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define BLOB_SHOWN 64 /* bytes of a blob in a table */
#define TEXT_LEAST 8  /* columns a text is not cut below on a narrow terminal */

/* Two columns of one name would make one JSON member of two: the later ones get a number. */
static char *unique_name(const struct row_writer *r, const char *name, size_t before)
{
	size_t same = 1;

	for (size_t i = 0; i < before; i++) {
		size_t n = strlen(name);

		if (strncmp(r->names[i], name, n) == 0 &&
		    (r->names[i][n] == '\0' || r->names[i][n] == ':'))
			same++;
	}
	return same == 1 ? xstrdup(name) : xasprintf("%s:%zu", name, same);
}

static void csv_bytes(struct row_writer *r, const char *text, size_t n)
{
	bool quoted = n == 0;

	for (size_t i = 0; i < n && !quoted; i++)
		quoted = text[i] == '"' || text[i] == ',';
	if (quoted)
		buf_putc(r->out, '"');
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"')
			buf_putc(r->out, '"');
		buf_putc(r->out, text[i]);
	}
	if (quoted)
		buf_putc(r->out, '"');
}

/* A file ends up on a terminal, too: what it would obey is escaped. */
static void csv_put(struct row_writer *r, const char *text, size_t n)
{
	struct buf safe = { 0 };

	text_display(&safe, text, n, SIZE_MAX);
	csv_bytes(r, safe.at ? safe.at : "", safe.len);
	buf_done(&safe);
}

static void begin_table(struct row_writer *r)
{
	r->columns = xcalloc(r->n, sizeof *r->columns);
	for (size_t i = 0; i < r->n; i++)
		r->columns[i] = (struct table_column){ .name = r->names[i], .align = TABLE_RIGHT };
	r->table = (struct table){ .columns = r->columns, .n_columns = r->n };
}

static void begin_csv(struct row_writer *r)
{
	for (size_t i = 0; i < r->n; i++) {
		if (i)
			buf_putc(r->out, ',');
		csv_put(r, r->names[i], strlen(r->names[i]));
	}
	buf_puts(r->out, "\n");
}

void row_writer_begin(struct row_writer *r, const char *const *names, size_t n)
{
	r->n = n;
	r->names = xcalloc(MAX(n, (size_t)1), sizeof *r->names);
	for (size_t i = 0; i < n; i++)
		r->names[i] = unique_name(r, names[i], i);
	r->json.out = r->out;
	if (r->format == ROW_WRITER_TABLE)
		begin_table(r);
	else if (r->format == ROW_WRITER_CSV)
		begin_csv(r);
	else
		json_begin_array(&r->json);
}

/* Before each value: the object's beginning and the member's name, or the comma. */
static void next(struct row_writer *r)
{
	if (r->format == ROW_WRITER_JSON) {
		if (r->at == 0) {
			buf_puts(r->out, r->rows ? ",\n" : "\n");
			r->json.need_comma = false;
			json_begin_object(&r->json);
		}
		json_key_text(&r->json, r->names[r->at]);
	} else if (r->format == ROW_WRITER_CSV && r->at) {
		buf_putc(r->out, ',');
	}
	r->at++;
}

/* Texts stand to the left and may be cut, numbers do not. */
static void mark_text(struct row_writer *r)
{
	r->columns[r->at - 1].align = TABLE_LEFT;
	r->columns[r->at - 1].min_width = TEXT_LEAST;
}

void row_writer_null(struct row_writer *r)
{
	next(r);
	if (r->format == ROW_WRITER_JSON)
		json_nil(&r->json);
	else if (r->format == ROW_WRITER_TABLE)
		table_add_figure(&r->table, NULL, INK_PLAIN);
}

void row_writer_i64(struct row_writer *r, int64_t v)
{
	char text[24];

	next(r);
	snprintf(text, sizeof text, "%jd", (intmax_t)v);
	if (r->format == ROW_WRITER_JSON)
		json_i64(&r->json, v);
	else if (r->format == ROW_WRITER_TABLE)
		table_add(&r->table, text, INK_PLAIN);
	else
		buf_puts(r->out, text);
}

void row_writer_real(struct row_writer *r, double v)
{
	struct buf text = { 0 };
	struct json number = { .out = &text };

	next(r);
	if (r->format == ROW_WRITER_JSON) {
		json_exact(&r->json, v);
		return;
	}
	json_exact(&number, v); /* its figures are right for people too */
	if (!isfinite(v))
		buf_reset(&text);
	if (r->format == ROW_WRITER_CSV)
		buf_put(r->out, text.at, text.len);
	else
		table_add_figure(&r->table, text.len ? text.at : NULL, INK_PLAIN);
	buf_done(&text);
}

void row_writer_text(struct row_writer *r, const char *text, size_t n)
{
	next(r);
	if (r->format == ROW_WRITER_JSON) {
		json_strn(&r->json, text, n);
	} else if (r->format == ROW_WRITER_CSV) {
		csv_put(r, text, n);
	} else {
		mark_text(r);
		table_addn(&r->table, text, n, INK_PLAIN);
	}
}

void row_writer_str(struct row_writer *r, const char *text)
{
	if (text)
		row_writer_text(r, text, strlen(text));
	else
		row_writer_null(r);
}

void row_writer_blob(struct row_writer *r, const void *bytes, size_t n)
{
	const unsigned char *b = bytes;
	struct buf hex = { 0 };
	size_t shown = r->format == ROW_WRITER_TABLE ? MIN(n, (size_t)BLOB_SHOWN) : n;

	for (size_t i = 0; i < shown; i++)
		buf_printf(&hex, "%02x", b[i]);
	if (shown < n)
		buf_puts(&hex, "…");
	row_writer_text(r, hex.at ? hex.at : "", hex.len);
	buf_done(&hex);
}

bool row_writer_end_row(struct row_writer *r)
{
	r->at = 0;
	r->rows++;
	if (r->format == ROW_WRITER_JSON)
		json_end_object(&r->json);
	else if (r->format == ROW_WRITER_CSV)
		buf_puts(r->out, "\n");
	return r->format != ROW_WRITER_TABLE || r->table.cells.len + r->n <= ROW_WRITER_CELLS_MAX;
}

/* Rows too wide for the terminal stand below each other, a line for each column. */
static void print_expanded(struct row_writer *r, struct canvas *to)
{
	static const struct table_column pair[] = { { NULL, TABLE_RIGHT },
		                                    { NULL, TABLE_LEFT, 0, 20, true } };

	for (size_t row = 0; row < r->rows; row++) {
		struct table t = { .columns = pair, .n_columns = ARRAY_LEN(pair), .indent = 2 };

		canvas_printf(to, INK_TITLE, "row %zu", row + 1);
		canvas_newline(to);
		for (size_t i = 0; i < r->n; i++) {
			const struct table_cell *cell = &r->table.cells.at[row * r->n + i];

			table_add(&t, r->names[i], INK_LABEL);
			table_addn(&t, r->table.text.at + cell->at, cell->len, cell->ink);
		}
		table_print(&t, to);
		table_done(&t);
	}
}

void row_writer_end(struct row_writer *r)
{
	struct canvas *to = CANVAS(&r->style, r->out);

	if (r->format == ROW_WRITER_TABLE && r->rows && !table_fits(&r->table, to->width))
		print_expanded(r, to);
	else if (r->format == ROW_WRITER_TABLE)
		table_print(&r->table, to);
	else if (r->format == ROW_WRITER_JSON)
		buf_puts(r->out, r->rows ? "\n]\n" : "]\n");
}

void row_writer_done(struct row_writer *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->names[i]);
	free(r->names);
	free(r->columns);
	table_done(&r->table);
	*r = (struct row_writer){ 0 };
}
