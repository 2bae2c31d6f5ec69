/* SPDX-License-Identifier: MIT */
/* top_view.h - the screen of `proctor top`: pure functions of a frame and what the user chose. */
#pragma once

#include "view/grid.h"
#include "view/top_state.h"

#define TOP_WAITING_MAX 512 /* lines of a terminal */
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

/* Before it is drawn on a grid of that size: scrolls so that the selected row is seen, and a page not beyond its end. The state's
 * rows are arranged before. */
void top_view_scroll(struct top_state *s, const struct grid *g);
/* The processes that will be shown with what they wait in, if s->wait_words has it: how many. */
size_t top_view_waiting(const struct frame *f, const struct top_state *s, const struct grid *g,
                        pid_t ret[static TOP_WAITING_MAX]);
/* Draws everything. `cursor`: the selected row is marked. */
void top_view(const struct frame *f, const struct top_state *s, bool cursor, struct grid *to,
              struct top_layout *ret);

/* Its parts, each in so many lines from y on. */
size_t top_header_view(const struct frame *f, const struct top_state *s, struct grid *g, size_t y,
                       size_t lines);
void top_tree_view(const struct frame *f, const struct top_state *s, bool cursor, struct grid *g,
                   size_t y, size_t lines, struct top_layout *ret);
/* The tree in so many lines: scrolling, and the processes for top_view_waiting(). */
void top_tree_scroll(struct top_state *s, size_t lines);
size_t top_tree_waiting(const struct frame *f, const struct top_state *s, const struct grid *g,
                        size_t lines, pid_t ret[static TOP_WAITING_MAX]);
void top_detail_view(const struct frame *f, const struct top_state *s, struct grid *g, size_t y,
                     size_t lines);

enum ink top_ink_of_ratio(double ratio);
enum ink top_ink_of_severity(enum severity severity);
/* The program without its directory, and its arguments. */
const char *top_command(const struct frame *f, const struct frame_proc *p);
