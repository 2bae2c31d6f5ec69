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
	/* Of pages, which have forms of their own for these. NULL: they are drawn as text. */
	void (*table)(void *self, const struct table *t);
	void (*lines)(void *self, const struct label_lines *lines);
};
extern const struct canvas_backend canvas_plain, canvas_ansi;    /* into a struct buf */
extern const struct canvas_backend canvas_markdown, canvas_html; /* into a struct canvas_page */

/* What the back ends of pages draw into; initialised with its buffer, the rest with zeros. */
struct canvas_page {
	struct buf *out;
	bool is_in_line, is_title; /* a line was begun; it is the title of a section */
};

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

/* The same for a page. */
#define CANVAS_PAGE(backend_, page_)                                                               \
	(&(struct canvas){ .backend = &(backend_),                                                 \
	                   .self = (page_),                                                        \
	                   .width = SIZE_MAX,                                                      \
	                   .unicode = true,                                                        \
	                   .is_page = true })

struct table_column;

/* What a back end of pages makes of lines, and of the rows of tables. */
struct canvas_page_form {
	void (*begin_line)(struct canvas_page *page, enum ink ink, char first);
	void (*put_text)(struct buf *to, enum ink ink, const char *text, size_t n); /* part of a line */
	void (*end_line)(struct canvas_page *page);
	const char *row_begin, *row_end;
	void (*put_cell)(struct buf *to, const struct table_column *column, bool is_head,
	                 enum ink ink, const char *text, size_t n);
};

/* Splits text into lines: blanks that indent one and empty ones are left out. */
void canvas_page_put(struct canvas_page *page, const struct canvas_page_form *form, enum ink ink,
                     const char *text, size_t n);
void canvas_page_end_line(struct canvas_page *page, const struct canvas_page_form *form);
/* The rows of a table; its columns' names as one. Its cells as lines, if it is one column without a name: that is prose. */
void canvas_page_put_rows(struct canvas_page *page, const struct canvas_page_form *form,
                          const struct table *t);
void canvas_page_put_head(struct canvas_page *page, const struct canvas_page_form *form,
                          const struct table *t);
bool canvas_page_put_prose(struct canvas_page *page, const struct canvas_page_form *form,
                           const struct table *t);

void canvas_put(struct canvas *c, enum ink ink, const char *text);
void canvas_printf(struct canvas *c, enum ink ink, const char *fmt, ...) printf_like(3, 4);
/* Text from outside, escaped and cut to so many columns. How many it took. */
size_t canvas_text(struct canvas *c, enum ink ink, const char *text, size_t n, size_t columns);
void canvas_pad(struct canvas *c, size_t columns); /* blanks, unless the line ends here */
void canvas_newline(struct canvas *c);
void canvas_title(struct canvas *c, const char *title); /* an empty line, then the title */
