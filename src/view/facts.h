/* SPDX-License-Identifier: MIT */
/* facts.h - labelled lines, each with a word at its right end for how far to trust it:
 *
 *	cpu     41m 12s user, 2m 03s sys   3.4 of 8 cores busy     exact
 *
 * A line is made of parts; it is broken between parts and never within one, so a number keeps its
 * unit. Where the right-hand column does not fit, its word comes behind the parts. Text from
 * outside is escaped on its way in. */
#pragma once

#include "base/vec.h"
#include "view/canvas.h"

enum fact_join {
	FACT_GLANCE, /* three blanks before it: a glance of its own */
	FACT_COMMA,  /* ", " */
	FACT_WORD,   /* a blank */
	FACT_WHOLE,  /* as FACT_GLANCE, and never cut: something to copy */
	FACT_ASIDE,  /* as FACT_GLANCE, and left out where it does not fit on the line */
};

struct fact_part {
	size_t at, len, columns;
	enum fact_join join;
};

struct fact {
	size_t label_at, label_len;
	size_t right_at, right_len;
	size_t first, n; /* parts */
	bool is_head;    /* begins in the first column; its label is in bold */
	enum ink ink;
};

struct facts {
	size_t indent, label_columns; /* columns of the labels, the gap behind them included */
	VEC(struct fact) list;
	VEC(struct fact_part) parts;
	struct buf text;
};

/* Begins a line; `right` is the word at its end ("": none). */
void facts_begin(struct facts *f, const char *label, const char *right);
/* The same for a line above the others. */
void facts_begin_head(struct facts *f, const char *label, const char *right);
/* The ink of the line that was begun last. */
void facts_ink(struct facts *f, enum ink ink);
/* Adds a part to it. */
void facts_join(struct facts *f, enum fact_join join, const char *fmt, ...) printf_like(3, 4);
#define facts_part(f, ...) facts_join(f, FACT_GLANCE, __VA_ARGS__)
#define facts_comma(f, ...) facts_join(f, FACT_COMMA, __VA_ARGS__)
/* The part of a line that has no other. */
void facts_unless_any(struct facts *f, const char *otherwise);
void facts_print(const struct facts *f, struct canvas *to);
void facts_done(struct facts *f);
