/* SPDX-License-Identifier: MIT */
/* graph.h - a curve in a few characters: values, newest last, that are NAN where nothing is known. */
#pragma once

#include "view/grid.h"

/* One line of blocks, `columns` wide, the newest value at its end; `top` is a full block. */
void graph_spark(struct grid *g, size_t y, size_t x, size_t columns, enum ink ink, const float *values,
                 size_t n, double top);
/* An area of dots, two values a column and four levels a line; without unicode one line of signs. */
void graph_area(struct grid *g, size_t y, size_t x, size_t columns, size_t lines, enum ink ink,
                const float *values, size_t n, double top);
/* The largest known value; NAN: none is known. */
double graph_max(const float *values, size_t n);
/* "███████░░░" of any width. */
void graph_bar(struct grid *g, size_t y, size_t x, size_t columns, enum ink ink, double ratio);
