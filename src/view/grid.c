/* SPDX-License-Identifier: MIT */
#include "view/grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

void grid_begin(struct grid *g, size_t width, size_t height, bool unicode)
{
	size_t n = width * height;

	g->width = width;
	g->height = height;
	g->unicode = unicode;
	if (n > g->cap) {
		g->cells = xreallocarray(g->cells, n, sizeof *g->cells);
		g->cap = n;
	}
	for (size_t i = 0; i < n; i++)
		g->cells[i] = (struct grid_cell){ .text = " ", .len = 1, .ink = INK_PLAIN };
}

void grid_done(struct grid *g)
{
	free(g->cells);
	*g = (struct grid){ 0 };
}

static struct grid_cell *cell(struct grid *g, size_t y, size_t x)
{
	return &g->cells[y * g->width + x];
}

/* Half of a wide character that is overwritten becomes a blank. */
static void clear_halves(struct grid *g, size_t y, size_t x)
{
	struct grid_cell *c = cell(g, y, x);

	if (c->len == 0 && x > 0)
		*cell(g, y, x - 1) = (struct grid_cell){ .text = " ", .len = 1 };
	if (x + 1 < g->width && cell(g, y, x + 1)->len == 0)
		*cell(g, y, x + 1) = (struct grid_cell){ .text = " ", .len = 1 };
}

static void combine(struct grid *g, size_t y, size_t x, const char *s, size_t n)
{
	struct grid_cell *c = x ? cell(g, y, x - 1) : NULL;

	if (c && c->len == 0 && x > 1)
		c = cell(g, y, x - 2);
	if (!c || c->len + n >= GRID_CELL_MAX)
		return;
	memcpy(c->text + c->len, s, n);
	c->len = (uint8_t)(c->len + n);
}

static size_t put(struct grid *g, size_t y, size_t x, size_t max, enum ink ink, const char *s,
                  size_t n)
{
	size_t end = x + MIN(max, g->width);

	end = MIN(end, g->width);
	if (y >= g->height)
		return x;
	while (n) {
		size_t len = text_utf8_len(s, n), columns;

		if (!len)
			len = 1;
		columns = text_columns(s, len);
		if (columns == 0) {
			combine(g, y, x, s, len);
		} else if (x + columns > end) {
			break;
		} else {
			struct grid_cell *c = cell(g, y, x);

			clear_halves(g, y, x);
			memcpy(c->text, s, len);
			c->len = (uint8_t)len;
			c->ink = (uint8_t)ink;
			if (columns == 2) {
				clear_halves(g, y, x + 1);
				*cell(g, y, x + 1) = (struct grid_cell){ .ink = (uint8_t)ink };
			}
			x += columns;
		}
		s += len;
		n -= len;
	}
	return x;
}

/* A figure without its end would be a false one. */
static void mark_cut(struct grid *g, size_t y, size_t x, size_t end, enum ink ink)
{
	const char *mark = g->unicode ? "…" : "~";

	for (; x < end; x++)
		put(g, y, x, 1, ink, " ", 1);
	put(g, y, end - 1, 1, ink, mark, strlen(mark));
}

size_t grid_put(struct grid *g, size_t y, size_t x, size_t max, enum ink ink, const char *text)
{
	size_t room = x < g->width ? MIN(max, g->width - x) : 0, end;

	if (!room || y >= g->height)
		return x;
	end = put(g, y, x, room, ink, text, strlen(text));
	if (text_columns(text, strlen(text)) <= room)
		return end;
	mark_cut(g, y, end, x + room, ink);
	return x + room;
}

size_t grid_part(struct grid *g, size_t y, size_t x, enum ink ink, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return x + text_columns(text, strlen(text)) <= g->width
	               ? grid_put(g, y, x, g->width, ink, text)
	               : x;
}

size_t grid_printf(struct grid *g, size_t y, size_t x, size_t max, enum ink ink, const char *fmt,
                   ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return grid_put(g, y, x, max, ink, text);
}

size_t grid_text(struct grid *g, size_t y, size_t x, size_t max, enum ink ink, const char *text)
{
	cleanup(buf_done) struct buf safe = { 0 };
	size_t room = x < g->width ? MIN(max, g->width - x) : 0;

	if (room == 0 || y >= g->height)
		return x;
	text_display(&safe, text, strlen(text), room);
	put(g, y, x, room, ink, safe.at ? safe.at : "", safe.len);
	x += text_columns(safe.at ? safe.at : "", safe.len);
	if (!g->unicode && safe.len >= strlen("…") &&
	    memcmp(safe.at + safe.len - strlen("…"), "…", strlen("…")) == 0)
		put(g, y, x - 1, 1, ink, "~", 1);
	return x;
}

void grid_counted(struct grid *g, size_t y, size_t x, enum ink ink, const char *text, unsigned times)
{
	char after[32] = "";
	size_t room = x < g->width ? g->width - x : 0;

	if (times > 1)
		snprintf(after, sizeof after, " (%u times)", times);
	room -= MIN(room, strlen(after));
	x = grid_text(g, y, x, room, ink, text);
	grid_put(g, y, x, g->width, INK_LABEL, after);
}

void grid_right(struct grid *g, size_t y, size_t end, size_t max, enum ink ink, const char *text)
{
	size_t columns = text_columns(text, strlen(text));

	if (columns > max || columns > end)
		columns = MIN(max, end);
	grid_put(g, y, end - columns, columns, ink, text);
}

void grid_fill(struct grid *g, size_t y, size_t x, size_t n, enum ink ink, const char *character)
{
	for (size_t i = 0; i < n && x + i < g->width; i++)
		put(g, y, x + i, 1, ink, character, strlen(character));
}

void grid_ink_line(struct grid *g, size_t y, enum ink ink)
{
	for (size_t x = 0; y < g->height && x < g->width; x++)
		cell(g, y, x)->ink = (uint8_t)ink;
}

static bool is_blank(const struct grid_cell *c)
{
	return c->len == 1 && c->text[0] == ' ' && c->ink != INK_SELECTED;
}

static void show_line(const struct grid *g, const struct grid_cell *line, struct canvas *to)
{
	size_t end = g->width;
	struct buf run = { 0 };

	while (end && is_blank(&line[end - 1]))
		end--;
	for (size_t x = 0; x < end; x++) {
		enum ink ink = line[x].ink;

		buf_put(&run, line[x].text, line[x].len);
		if (x + 1 == end || line[x + 1].ink != ink) {
			canvas_put(to, ink, run.at ? run.at : "");
			buf_reset(&run);
		}
	}
	buf_done(&run);
	canvas_newline(to);
}

void grid_show(const struct grid *g, struct canvas *to)
{
	for (size_t y = 0; y < g->height; y++)
		show_line(g, g->cells + y * g->width, to);
}
