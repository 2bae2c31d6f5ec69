/* SPDX-License-Identifier: MIT */
/* canvas.h - what renderers draw on: runs of text, each in an ink, and the end of each line. An ink is a
 * meaning; the back end decides on the form. Renderers know the width, whether blocks can be shown and
 * whether it is a page, and nothing else of where their output goes.
 *
 *	report_view(&report, CANVAS(&style, &out));
 */
#pragma once

#include "base/buf.h"
#include "view/style.h"

enum ink {
	INK_PLAIN,
	INK_TITLE,   /* of a section, and the heads of tables */
	INK_STRONG,  /* the figure that matters in its line */
	INK_LABEL,   /* what a line is about */
	INK_QUALITY, /* how far to trust a figure */
	INK_QUIET,   /* absent, the same as before, or an aside */
	INK_GOOD,
	INK_WARN,
	INK_BAD,
	INK_SELECTED, /* where the cursor is */
	INK_COUNT
};

struct table;
struct label_lines;

/* A back end. `text` may hold newlines and belongs to the caller. */
struct canvas_backend {
	void (*put)(void *self, enum ink ink, const char *text, size_t n);
	/* For back ends that have their own forms of these, such as pages. NULL: they are drawn as
	 * text. */
	void (*table)(void *self, const struct table *t);
	void (*lines)(void *self, const struct label_lines *lines);
};
extern const struct canvas_backend canvas_plain, canvas_ansi;    /* into a struct buf */

struct canvas {
	const struct canvas_backend *backend;
	void *self;
	size_t width; /* columns; SIZE_MAX: as wide as it gets */
	bool unicode; /* blocks for bars; else # and . */
	bool is_page; /* it can be scrolled and searched: nothing has to be left out or cut for the room */

	/* Inside. */
	size_t owed; /* blanks before the next text, so that no line ends in them */
};

/* One for a call: text into a buffer, with the colours that the style allows. */
#define CANVAS(style_, buf_)                                                                       \
	(&(struct canvas){ .backend = (style_)->color ? &canvas_ansi : &canvas_plain,              \
	                   .self = (buf_),                                                         \
	                   .width = (style_)->width,                                               \
	                   .unicode = (style_)->unicode })

void canvas_put(struct canvas *c, enum ink ink, const char *text);
void canvas_printf(struct canvas *c, enum ink ink, const char *fmt, ...) printf_like(3, 4);
/* Text from outside, escaped and cut to so many columns. How many it took. */
size_t canvas_text(struct canvas *c, enum ink ink, const char *text, size_t n, size_t columns);
void canvas_pad(struct canvas *c, size_t columns); /* blanks, unless the line ends here */
void canvas_newline(struct canvas *c);
void canvas_title(struct canvas *c, const char *title); /* an empty line, then the title */
