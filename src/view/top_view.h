/* SPDX-License-Identifier: MIT */
/* top_view.h - the screen of `proctor top`: pure functions of a frame and what the user chose. */
#pragma once

#include "view/grid.h"
#include "view/top_state.h"

#define TOP_COLUMNS_MAX (FRAME_FIGURE_COUNT + 5)

/* Where things are, for the mouse. */
struct top_layout {
	size_t head_y, rows_y, rows_n; /* the heads of columns, and the lines of the tree */
	size_t footer_y;
	struct {
		size_t x, end;
		unsigned sort; /* TOP_SORT_COUNT: none */
	} column[TOP_COLUMNS_MAX];
	size_t columns;
};

/* Draws everything, and scrolls so that the selected row is seen; the state's rows are arranged before. `cursor`: the
 * selected row is marked. */
void top_view(const struct frame *f, struct top_state *s, bool cursor, struct grid *to,
              struct top_layout *ret);

/* Its parts, each in so many lines from y on. */
size_t top_header_view(const struct frame *f, const struct top_state *s, struct grid *g, size_t y,
                       size_t lines);
void top_tree_view(const struct frame *f, struct top_state *s, bool cursor, struct grid *g, size_t y,
                   size_t lines, struct top_layout *ret);
void top_detail_view(const struct frame *f, const struct top_state *s, struct grid *g, size_t y,
                     size_t lines);

enum ink top_ink_of_ratio(double ratio);
enum ink top_ink_of_severity(enum severity severity);
/* The program without its directory, and its arguments. */
const char *top_command(const struct frame *f, const struct frame_proc *p);
