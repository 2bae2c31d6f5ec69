/* SPDX-License-Identifier: MIT */
/* label_lines.h - labelled lines, each with a word at its right end for how far to trust it:
 *
 *	cpu     41m 12s user, 2m 03s sys   3.4 of 8 cores busy     exact
 *
 * A line is made of parts; it is broken between parts and never within one, so a number keeps its
 * unit. Where the right-hand column does not fit, its word comes behind the parts. Text from
 * outside is escaped on its way in. */
#pragma once

#include "base/vec.h"
#include "view/canvas.h"

enum label_join {
	LABEL_GLANCE, /* three blanks before it: a glance of its own */
	LABEL_COMMA,  /* ", " */
	LABEL_WORD,   /* a blank */
	LABEL_WHOLE,  /* as LABEL_GLANCE, and never cut: something to copy */
	LABEL_ASIDE,  /* as LABEL_GLANCE, and left out where it does not fit on the line */
};

struct label_line_part {
	size_t at, len, columns;
	enum label_join join;
};

struct label_line {
	size_t label_at, label_len;
	size_t right_at, right_len;
	size_t first, n; /* parts */
	bool is_head;    /* begins in the first column; its label is in bold */
	enum ink ink;
};

struct label_lines {
	size_t indent, label_columns; /* columns of the labels, the gap behind them included */
	VEC(struct label_line) list;
	VEC(struct label_line_part) parts;
	struct buf text;
};

/* Begins a line; `right` is the word at its end ("": none). */
void label_lines_begin(struct label_lines *f, const char *label, const char *right);
/* The same for a line above the others. */
void label_lines_begin_head(struct label_lines *f, const char *label, const char *right);
/* The ink of the line that was begun last. */
void label_lines_ink(struct label_lines *f, enum ink ink);
/* Adds a part to it. */
void label_lines_join(struct label_lines *f, enum label_join join, const char *fmt, ...) printf_like(3, 4);
#define label_lines_part(f, ...) label_lines_join(f, LABEL_GLANCE, __VA_ARGS__)
#define label_lines_comma(f, ...) label_lines_join(f, LABEL_COMMA, __VA_ARGS__)
/* The part of a line that has no other. */
void label_lines_unless_any(struct label_lines *f, const char *otherwise);
void label_lines_print(const struct label_lines *f, struct canvas *to);
/* The parts of a line one after the other, for pages: glances have a dot between them. */
void label_lines_put_parts(const struct label_lines *f, const struct label_line *row, struct buf *to);
void label_lines_done(struct label_lines *f);
