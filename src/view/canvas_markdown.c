/* SPDX-License-Identifier: MIT */
/* Markdown as GitHub and GitLab read it, for summaries of CI jobs and merge requests. Text is never markup: every
 * character that could begin some is escaped, so a process cannot put a link or a picture into the page by
 * its name. */
#include <ctype.h>
#include <string.h>

#include "view/canvas_page.h"
#include "view/label_lines.h"
#include "view/table.h"

/* An empty comment after @ and # keeps them from naming a user or an issue, which a backslash does not. */
static void put_char(struct buf *to, const char *at, const char *end)
{
	unsigned char next = at + 1 < end ? (unsigned char)at[1] : 0;

	switch (*at) {
	case '<':
		buf_puts(to, "&lt;");
		return;
	case '>':
		buf_puts(to, "&gt;");
		return;
	case '&':
		buf_puts(to, "&amp;");
		return;
	case '@':
	case '#':
		buf_printf(to, "%s%c%s", *at == '#' ? "\\" : "", *at,
		           isalnum(next) ? "<!-- -->" : "");
		return;
	case ':':
	case '.':
		if (next == '/' || (*at == '.' && to->len >= 3 &&
		                    strncasecmp(to->at + to->len - 3, "www", 3) == 0))
			buf_putc(to, '\\');
		break;
	default:
		if (strchr("\\`*_[]|~$", *at))
			buf_putc(to, '\\');
		break;
	}
	buf_putc(to, *at);
}

static void put_escaped(struct buf *to, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_char(to, text + i, text + n);
}

static void put_inked(struct buf *to, enum ink ink, const char *text, size_t n)
{
	(void)ink;
	put_escaped(to, text, n);
}

/* "-", "+", "=" and "1." begin a list or underline a title, but only in front. */
static void begin_line(struct canvas_page *page, enum ink ink, char first)
{
	if (ink == INK_TITLE)
		buf_puts(page->out, "#### ");
	else if (strchr("-+=", first))
		buf_putc(page->out, '\\');
}

/* A line becomes a paragraph. */
static void end_line(struct canvas_page *page)
{
	buf_puts(page->out, "\n\n");
}

static void put_cell(struct buf *to, const struct table_column *column, bool is_head, enum ink ink,
                     const char *text, size_t n)
{
	const char *strong = n && (ink == INK_BAD || ink == INK_WARN || ink == INK_STRONG) ? "**"
	                                                                                   : "";

	(void)column, (void)is_head;
	buf_printf(to, " %s", strong);
	put_escaped(to, text, n);
	buf_printf(to, "%s |", strong);
}

static const struct canvas_page_form form = { .begin_line = begin_line,
	                                      .put_text = put_inked,
	                                      .end_line = end_line,
	                                      .row_begin = "|",
	                                      .row_end = "\n",
	                                      .put_cell = put_cell };

static void markdown_put(void *self, enum ink ink, const char *text, size_t n)
{
	canvas_page_put(self, &form, ink, text, n);
}

static void markdown_table(void *self, const struct table *t)
{
	struct canvas_page *page = self;

	canvas_page_end_line(page, &form);
	if (canvas_page_put_prose(page, &form, t))
		return;
	canvas_page_put_head(page, &form, t);
	buf_putc(page->out, '|');
	for (size_t c = 0; c < t->n_columns; c++)
		if (table_shows(t, c))
			buf_puts(page->out, t->columns[c].align == TABLE_RIGHT ? "--:|" : "---|");
	buf_putc(page->out, '\n');
	canvas_page_put_rows(page, &form, t);
	buf_putc(page->out, '\n');
}

/* "### train.py-7f3a", then its line in bold if it is bad. */
static void put_head_line(struct buf *to, const struct label_lines *f, const struct label_line *row,
                          const struct buf *parts)
{
	const char *strong = row->ink == INK_BAD ? "**" : "";

	buf_puts(to, "### ");
	put_escaped(to, f->text.at + row->label_at, row->label_len);
	buf_puts(to, "\n\n");
	if (!parts->len && !row->right_len)
		return;
	buf_puts(to, strong);
	put_escaped(to, parts->at, parts->len);
	buf_puts(to, strong);
	if (row->right_len)
		buf_puts(to, " · ");
	put_escaped(to, f->text.at + row->right_at, row->right_len);
	buf_puts(to, "\n\n");
}

static void markdown_lines(void *self, const struct label_lines *f)
{
	struct canvas_page *page = self;
	bool has_right = false, is_open = false;

	canvas_page_end_line(page, &form);
	vec_each(&f->list, row)
		has_right |= row->right_len && !row->is_head;
	vec_each(&f->list, row) {
		cleanup(buf_done) struct buf parts = { 0 };

		label_lines_put_parts(f, row, &parts);
		if (row->is_head) {
			put_head_line(page->out, f, row, &parts);
			continue;
		}
		if (!is_open)
			buf_puts(page->out,
			         has_right ? "| | | |\n|---|---|---|\n" : "| | |\n|---|---|\n");
		is_open = true;
		buf_putc(page->out, '|');
		put_cell(page->out, NULL, false, INK_PLAIN, f->text.at + row->label_at,
		         row->label_len);
		put_cell(page->out, NULL, false, row->ink, parts.at, parts.len);
		if (has_right)
			put_cell(page->out, NULL, false, INK_PLAIN, f->text.at + row->right_at,
			         row->right_len);
		buf_putc(page->out, '\n');
	}
	if (is_open)
		buf_putc(page->out, '\n');
}

const struct canvas_backend canvas_markdown = { .put = markdown_put,
	                                        .table = markdown_table,
	                                        .lines = markdown_lines };
