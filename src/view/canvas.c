/* SPDX-License-Identifier: MIT */
#include "view/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "view/table.h"

static void plain_put(void *self, enum ink ink, const char *text, size_t n)
{
	(void)ink;
	buf_put(self, text, n);
}

static void ansi_put(void *self, enum ink ink, const char *text, size_t n)
{
	static const char *const codes[] = {
		[INK_PLAIN] = "",        [INK_TITLE] = "\x1b[1m",   [INK_STRONG] = "\x1b[1m",
		[INK_LABEL] = "\x1b[2m", [INK_QUALITY] = "\x1b[2m", [INK_QUIET] = "\x1b[2m",
		[INK_GOOD] = "\x1b[32m", [INK_WARN] = "\x1b[33m",   [INK_BAD] = "\x1b[31m",
		[INK_SELECTED] = "\x1b[7m",
	};

	buf_puts(self, codes[ink]);
	buf_put(self, text, n);
	if (ink != INK_PLAIN)
		buf_puts(self, "\x1b[0m");
}

const struct canvas_backend canvas_plain = { .put = plain_put };
const struct canvas_backend canvas_ansi = { .put = ansi_put };

/* ---- pages ---------------------------------------------------------------------------------------- */

static void put_part(struct canvas_page *page, const struct canvas_page_form *form, enum ink ink,
                     const char *text, size_t n)
{
	if (!page->is_in_line)
		for (; n && *text == ' '; n--)
			text++;
	if (!n)
		return;
	if (!page->is_in_line)
		form->begin_line(page, ink, *text);
	page->is_in_line = true;
	form->put_text(page->out, ink, text, n);
}

void canvas_page_end_line(struct canvas_page *page, const struct canvas_page_form *form)
{
	if (page->is_in_line)
		form->end_line(page);
	page->is_in_line = false;
}

void canvas_page_put(struct canvas_page *page, const struct canvas_page_form *form, enum ink ink,
                     const char *text, size_t n)
{
	while (n) {
		const char *newline = memchr(text, '\n', n);
		size_t len = newline ? (size_t)(newline - text) : n;

		put_part(page, form, ink, text, len);
		if (newline)
			canvas_page_end_line(page, form);
		len += newline != NULL;
		text += len;
		n -= len;
	}
}

static void put_row(struct canvas_page *page, const struct canvas_page_form *form,
                    const struct table *t, const struct table_cell *cells)
{
	buf_puts(page->out, form->row_begin);
	for (size_t c = 0; c < t->n_columns; c++)
		if (table_shows(t, c))
			form->put_cell(page->out, &t->columns[c], false, cells[c].ink,
			               t->text.at + cells[c].at, cells[c].len);
	buf_puts(page->out, form->row_end);
}

void canvas_page_put_rows(struct canvas_page *page, const struct canvas_page_form *form,
                          const struct table *t)
{
	for (size_t i = 0; i + t->n_columns <= t->cells.len; i += t->n_columns)
		put_row(page, form, t, &t->cells.at[i]);
}

void canvas_page_put_head(struct canvas_page *page, const struct canvas_page_form *form,
                          const struct table *t)
{
	buf_puts(page->out, form->row_begin);
	for (size_t c = 0; c < t->n_columns; c++) {
		const char *name = t->columns[c].name ? t->columns[c].name : "";

		if (table_shows(t, c))
			form->put_cell(page->out, &t->columns[c], true, INK_PLAIN, name,
			               strlen(name));
	}
	buf_puts(page->out, form->row_end);
}

bool canvas_page_put_prose(struct canvas_page *page, const struct canvas_page_form *form,
                           const struct table *t)
{
	if (t->n_columns != 1 || t->columns[0].name)
		return false;
	vec_each(&t->cells, cell) {
		canvas_page_put(page, form, cell->ink, t->text.at + cell->at, cell->len);
		canvas_page_end_line(page, form);
	}
	return true;
}

/* ---- what renderers call ---------------------------------------------------------------------------- */

static void pay(struct canvas *c)
{
	static const char blanks[] = "                                ";

	while (c->owed) {
		size_t n = MIN(c->owed, sizeof blanks - 1);

		c->backend->put(c->self, INK_PLAIN, blanks, n);
		c->owed -= n;
	}
}

static void putn(struct canvas *c, enum ink ink, const char *text, size_t n)
{
	if (!n)
		return;
	pay(c);
	c->backend->put(c->self, ink, text, n);
}

void canvas_put(struct canvas *c, enum ink ink, const char *text)
{
	putn(c, ink, text, strlen(text));
}

void canvas_printf(struct canvas *c, enum ink ink, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	canvas_put(c, ink, text);
}

size_t canvas_text(struct canvas *c, enum ink ink, const char *text, size_t n, size_t columns)
{
	struct buf safe = { 0 };
	size_t used;

	text_display(&safe, text, n, columns);
	used = text_columns(safe.at ? safe.at : "", safe.len);
	putn(c, ink, safe.at, safe.len);
	buf_done(&safe);
	return used;
}

void canvas_pad(struct canvas *c, size_t columns)
{
	c->owed += columns;
}

void canvas_newline(struct canvas *c)
{
	c->owed = 0;
	c->backend->put(c->self, INK_PLAIN, "\n", 1);
}

void canvas_title(struct canvas *c, const char *title)
{
	canvas_newline(c);
	canvas_put(c, INK_TITLE, title);
	canvas_newline(c);
}
