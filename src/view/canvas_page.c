/* SPDX-License-Identifier: MIT */
#include "view/canvas_page.h"

#include <string.h>

#include "view/table.h"

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
