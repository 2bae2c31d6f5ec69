/* SPDX-License-Identifier: MIT */
/* HTML: titles, tables and labelled lines as such, all else as lines of text. Inks are classes, which the style
 * sheet of the page gives a form (web/src/page.css). Text is never markup. */
#include <string.h>

#include "view/canvas_page.h"
#include "view/html.h"
#include "view/label_lines.h"
#include "view/table.h"

static const char *const classes[INK_COUNT] = {
	[INK_PLAIN] = "",          [INK_TITLE] = "",      [INK_STRONG] = "strong",
	[INK_LABEL] = "label",     [INK_QUIET] = "quiet", [INK_QUALITY] = "quality",
	[INK_GOOD] = "good",       [INK_WARN] = "warn",   [INK_BAD] = "bad",
	[INK_SELECTED] = "strong",
};

static void begin_line(struct canvas_page *page, enum ink ink, char first)
{
	(void)first;
	page->is_title = ink == INK_TITLE;
	buf_puts(page->out, page->is_title ? "<h2>" : "<p class=\"line\">");
}

static void end_line(struct canvas_page *page)
{
	buf_puts(page->out, page->is_title ? "</h2>\n" : "</p>\n");
}

static void put_inked(struct buf *to, enum ink ink, const char *text, size_t n)
{
	if (*classes[ink])
		buf_printf(to, "<span class=\"%s\">", classes[ink]);
	html_put_text(to, text, n);
	if (*classes[ink])
		buf_puts(to, "</span>");
}

static void put_cell(struct buf *to, const struct table_column *column, bool is_head, enum ink ink,
                     const char *text, size_t n)
{
	bool is_right = column->align == TABLE_RIGHT;
	const char *tag = is_head ? "th" : "td";

	buf_printf(to, "<%s%s%s%s%s>", tag, is_right || *classes[ink] ? " class=\"" : "",
	           is_right ? "right " : "", classes[ink], is_right || *classes[ink] ? "\"" : "");
	html_put_text(to, text, n);
	buf_printf(to, "</%s>", tag);
}

static const struct canvas_page_form form = { .begin_line = begin_line,
	                                      .put_text = put_inked,
	                                      .end_line = end_line,
	                                      .row_begin = "<tr>",
	                                      .row_end = "</tr>\n",
	                                      .put_cell = put_cell };

static void html_put(void *self, enum ink ink, const char *text, size_t n)
{
	canvas_page_put(self, &form, ink, text, n);
}

static void html_table(void *self, const struct table *t)
{
	struct canvas_page *page = self;
	bool has_head = t->columns[0].name;
	bool sorts = has_head && *t->columns[0].name; /* else rows are figures of different kinds */

	canvas_page_end_line(page, &form);
	if (canvas_page_put_prose(page, &form, t))
		return;
	buf_printf(page->out, "<div class=\"wide\"><table%s>", sorts ? " class=\"sorts\"" : "");
	if (has_head) {
		buf_puts(page->out, "<thead>");
		canvas_page_put_head(page, &form, t);
		buf_puts(page->out, "</thead>\n");
	}
	buf_puts(page->out, "<tbody>");
	canvas_page_put_rows(page, &form, t);
	buf_puts(page->out, "</tbody></table></div>\n");
}

static void put_head_line(struct buf *to, const struct label_lines *f, const struct label_line *row,
                          const struct buf *parts)
{
	buf_puts(to, "<h1>");
	html_put_text(to, f->text.at + row->label_at, row->label_len);
	buf_puts(to, "</h1>\n");
	if (!parts->len && !row->right_len)
		return;
	buf_puts(to, "<p class=\"verdict\">");
	put_inked(to, row->ink, parts->at, parts->len);
	if (row->right_len) {
		buf_puts(to, " · ");
		put_inked(to, INK_QUALITY, f->text.at + row->right_at, row->right_len);
	}
	buf_puts(to, "</p>\n");
}

static void html_lines(void *self, const struct label_lines *f)
{
	struct canvas_page *page = self;
	bool is_open = false;

	canvas_page_end_line(page, &form);
	vec_each(&f->list, row) {
		cleanup(buf_done) struct buf parts = { 0 };

		label_lines_put_parts(f, row, &parts);
		if (row->is_head) {
			put_head_line(page->out, f, row, &parts);
			continue;
		}
		buf_puts(page->out, is_open ? "" : "<table class=\"lines\"><tbody>");
		is_open = true;
		buf_puts(page->out, "<tr><th scope=\"row\">");
		html_put_text(page->out, f->text.at + row->label_at, row->label_len);
		buf_puts(page->out, "</th><td>");
		put_inked(page->out, row->ink, parts.at, parts.len);
		buf_puts(page->out, "</td><td class=\"quality\">");
		html_put_text(page->out, f->text.at + row->right_at, row->right_len);
		buf_puts(page->out, "</td></tr>\n");
	}
	if (is_open)
		buf_puts(page->out, "</tbody></table>\n");
}

const struct canvas_backend canvas_html = { .put = html_put,
	                                    .table = html_table,
	                                    .lines = html_lines };
