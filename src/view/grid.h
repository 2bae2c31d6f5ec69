/* SPDX-License-Identifier: MIT */
/* grid.h - a screen of so many columns and lines, drawn in any order and then put on a canvas line by line. What does not
 * fit is cut off, down to no room at all. */
#pragma once

#include "view/canvas.h"

#define GRID_CELL_MAX 14 /* bytes: a character with its combining ones */

struct grid_cell {
	char text[GRID_CELL_MAX]; /* "": the second column of a wide character */
	uint8_t len;
	uint8_t ink;
};

struct grid {
	size_t width, height;
	bool unicode;
	struct grid_cell *cells;
	size_t cap;
};

void grid_begin(struct grid *g, size_t width, size_t height, bool unicode); /* all blank */
void grid_done(struct grid *g);
/* Text of ours; if it is longer than `max` columns it ends in '…'. Where it ends. */
size_t grid_put(struct grid *g, size_t y, size_t x, size_t max, enum ink ink, const char *text);
size_t grid_printf(struct grid *g, size_t y, size_t x, size_t max, enum ink ink, const char *fmt,
                   ...) printf_like(6, 7);
/* All of it, or nothing where it does not fit into the line. */
size_t grid_part(struct grid *g, size_t y, size_t x, enum ink ink, const char *fmt, ...)
	printf_like(5, 6);
/* Text from outside, escaped; if it is longer it ends in '…'. */
size_t grid_text(struct grid *g, size_t y, size_t x, size_t max, enum ink ink, const char *text);
/* … to the end of the line; "(40 times)" follows, which is not cut. */
void grid_counted(struct grid *g, size_t y, size_t x, enum ink ink, const char *text, unsigned times);
/* So that it ends before column `end`, and does not begin before `end - max`. */
void grid_right(struct grid *g, size_t y, size_t end, size_t max, enum ink ink, const char *text);
void grid_fill(struct grid *g, size_t y, size_t x, size_t n, enum ink ink, const char *character);
/* The whole line in this ink: the selected one. */
void grid_ink_line(struct grid *g, size_t y, enum ink ink);
/* Its lines, each with its end; blanks at their ends only where they are selected. */
void grid_show(const struct grid *g, struct canvas *to);
