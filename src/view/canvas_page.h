/* SPDX-License-Identifier: MIT */
/* canvas_page.h - the back ends of a canvas that is a page (Markdown, HTML), and what they share. */
#pragma once

#include "view/canvas.h"

extern const struct canvas_backend canvas_markdown, canvas_html; /* into a struct canvas_page */

/* The state of the back ends of pages; initialised with its buffer, the rest with zeros. */
struct canvas_page {
	struct buf *out;
	bool is_in_line, is_title; /* a line was begun; it is the title of a section */
};

/* Like CANVAS, for a page. */
#define CANVAS_PAGE(backend_, page_)                                                               \
	(&(struct canvas){ .backend = &(backend_),                                                 \
	                   .self = (page_),                                                        \
	                   .width = SIZE_MAX,                                                      \
	                   .unicode = true,                                                        \
	                   .is_page = true })

struct table_column;

/* How a back end of pages draws lines, and the rows of tables. */
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
