/* SPDX-License-Identifier: MIT */
#include "view/graph.h"

#include <math.h>
#include <stdio.h>

/* The level of 0 to `levels`: at least 1 for any value above 0, so that it is visible. */
static unsigned level_of(double value, double top, unsigned levels)
{
	double part = top > 0 ? value / top : 0;

	if (!(value > 0))
		return 0;
	if (part >= 1)
		return levels;
	return MAX(1U, (unsigned)(part * levels + 0.5));
}

/* The value at a place counted from the end; NAN: before the first. */
static double value_at(const float *values, size_t n, size_t from_end)
{
	return from_end < n ? (double)values[n - 1 - from_end] : NAN;
}

void graph_spark(struct grid *g, size_t y, size_t x, size_t columns, enum ink ink, const float *values,
                 size_t n, double top)
{
	static const char *const blocks[] = { "▁", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const signs[] = { ".", ".", ".", ":", "-", "=", "+", "*", "#" };

	for (size_t i = 0; i < columns; i++) {
		double v = value_at(values, n, columns - 1 - i);

		if (!isnan(v))
			grid_put(g, y, x + i, 1, ink,
			         (g->unicode ? blocks : signs)[level_of(v, top, 8)]);
	}
}

/* The dots of a column of a cell that is filled from below up to `height` of 4. */
static unsigned dots(unsigned height, bool is_right)
{
	static const unsigned left[] = { 0, 0x40, 0x44, 0x46, 0x47 };
	static const unsigned right[] = { 0, 0x80, 0xa0, 0xb0, 0xb8 };

	return (is_right ? right : left)[MIN(height, 4U)];
}

static unsigned part_in_line(unsigned level, size_t line_from_below)
{
	unsigned below = (unsigned)line_from_below * 4;

	return level > below ? MIN(level - below, 4U) : 0;
}

void graph_area(struct grid *g, size_t y, size_t x, size_t columns, size_t lines, enum ink ink,
                const float *values, size_t n, double top)
{
	unsigned levels = (unsigned)lines * 4;

	if (!g->unicode) {
		graph_spark(g, y + lines - 1, x, columns, ink, values, n, top);
		return;
	}
	for (size_t i = 0; i < columns; i++) {
		double a = value_at(values, n, 2 * (columns - 1 - i) + 1);
		double b = value_at(values, n, 2 * (columns - 1 - i));
		unsigned low = isnan(a) ? 0 : MAX(1U, level_of(a, top, levels));
		unsigned high = isnan(b) ? 0 : MAX(1U, level_of(b, top, levels));

		for (size_t line = 0; line < lines; line++) {
			unsigned c = 0x2800 | dots(part_in_line(low, line), false) |
			             dots(part_in_line(high, line), true);
			const char text[] = { (char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 0x3f)),
				              (char)(0x80 | (c & 0x3f)), '\0' };

			if (c != 0x2800)
				grid_put(g, y + lines - 1 - line, x + i, 1, ink, text);
		}
	}
}

double graph_max(const float *values, size_t n)
{
	double max = NAN;

	for (size_t i = 0; i < n; i++)
		if (!isnan(values[i]) && !((double)values[i] <= max))
			max = (double)values[i];
	return max;
}

void graph_bar(struct grid *g, size_t y, size_t x, size_t columns, enum ink ink, double ratio)
{
	size_t full = isnan(ratio) ? 0 : (size_t)(MIN(MAX(ratio, 0.0), 1.0) * (double)columns + 0.5);

	grid_fill(g, y, x, full, ink, g->unicode ? "█" : "#");
	grid_fill(g, y, x + full, columns - full, INK_QUIET, g->unicode ? "░" : ".");
}
