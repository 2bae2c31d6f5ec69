/* SPDX-License-Identifier: MIT */
/* table.h - rows of cells under headings. Text from outside is escaped on its way in (base/text.h), so a
 * cell cannot break a line or control the terminal. Lines never end in blanks.
 *
 *	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };
 *	table_add(&t, "12", INK_PLAIN); …      // row after row, a cell for each column
 *	table_print(&t, canvas);
 *	table_done(&t); */
#pragma once

#include "base/vec.h"
#include "view/canvas.h"

enum table_align {
	TABLE_LEFT,
	TABLE_RIGHT,
};

struct table_column {
	const char *name; /* NULL in all columns: no head */
	enum table_align align;
	unsigned drop; /* 0: always shown; else left out when it is too narrow, the highest first */
	size_t min_width; /* not 0: may be cut down to this before columns are left out */
	bool wraps; /* the last column only: what does not fit goes on below instead of being cut */
	bool in_middle; /* cut in its middle, where both ends matter */
	bool is_extra;  /* with `drop`: left out before any other column is cut */
	const char *key;  /* of the field that it shows, by which it is explained; NULL: none */
	const char *help; /* in place of that field's */
};

/* The columns of a table that several places must know. */
struct table_columns {
	const struct table_column *at;
	size_t n;
};
#define TABLE_COLUMNS(rows)                                                                        \
	{                                                                                          \
		(rows), ARRAY_LEN(rows)                                                            \
	}

struct table_cell {
	size_t at, len, columns;
	enum ink ink;
};

struct table {
	const struct table_column *columns;
	size_t n_columns;
	size_t indent; /* blanks before each line */
	VEC(struct table_cell) cells;
	struct buf text;
};

#define TABLE_COLUMNS_MAX 2000 /* as many as SQLite gives */

void table_add(struct table *t, const char *text, enum ink ink);
void table_addn(struct table *t, const char *text, size_t n, enum ink ink);
/* A figure, or "-" in quiet ink when text is NULL or "-". */
void table_add_figure(struct table *t, const char *text, enum ink ink);
/* Whether the column is shown where there is room: one that may be left out must not be empty. */
bool table_shows(const struct table *t, size_t column);
/* Whether it can be shown without leaving out a column. */
bool table_fits(const struct table *t, size_t width);
void table_print(const struct table *t, struct canvas *to);
/* Words over the width, each line indented. */
void table_print_prose(struct canvas *to, const char *text, enum ink ink, size_t indent);
/* Under a title, and frees it: the first rows of `total`, and how many `noun`s more there are. No
 * rows: nothing. */
void table_print_section(struct table *t, const char *title, size_t total, const char *noun,
                         struct canvas *to);
void table_done(struct table *t);
