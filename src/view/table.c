/* SPDX-License-Identifier: MIT */
#include "view/table.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "view/format.h"

#define CELLS_MAX ((size_t)1 << 26)
#define TEXT_MAX ((size_t)1 << 30)
#define CELL_COLUMNS_MAX 4096 /* what one cell may hold; SQL can answer with megabytes */

struct layout {
	bool shown[TABLE_COLUMNS_MAX];
	size_t width[TABLE_COLUMNS_MAX];
	size_t gap; /* blanks between columns */
};

void table_addn(struct table *t, const char *text, size_t n, enum ink ink)
{
	struct table_cell *cell = vec_push(&t->cells, CELLS_MAX);

	if (!cell)
		return;
	t->text.max = TEXT_MAX;
	cell->at = t->text.len;
	text_display(&t->text, text, n, CELL_COLUMNS_MAX);
	cell->len = t->text.len - cell->at;
	cell->columns = text_columns(t->text.at + cell->at, cell->len);
	cell->ink = ink;
}

void table_add(struct table *t, const char *text, enum ink ink)
{
	table_addn(t, text, strlen(text), ink);
}

void table_add_figure(struct table *t, const char *text, enum ink ink)
{
	bool absent = !text || strcmp(text, "-") == 0;

	table_add(t, absent ? "-" : text, absent ? INK_QUIET : ink);
}

void table_done(struct table *t)
{
	vec_done(&t->cells);
	buf_done(&t->text);
}

static bool is_absent(const struct table *t, const struct table_cell *cell)
{
	return cell->len == 0 || (cell->len == 1 && t->text.at[cell->at] == '-');
}

/* Natural widths; a column that may be left out and is empty is left out. */
static void measure(const struct table *t, struct layout *l)
{
	for (size_t c = 0; c < t->n_columns; c++)
		l->width[c] = t->columns[c].name
		                      ? text_columns(t->columns[c].name, strlen(t->columns[c].name))
		                      : 0;
	for (size_t i = 0; i < t->cells.len; i++) {
		const struct table_cell *cell = &t->cells.at[i];
		size_t c = i % t->n_columns;

		l->width[c] = MAX(l->width[c], cell->columns);
	}
	for (size_t c = 0; c < t->n_columns; c++)
		l->shown[c] = table_shows(t, c);
}

bool table_shows(const struct table *t, size_t column)
{
	bool has_figure = !t->columns[column].drop;

	for (size_t i = column; !has_figure && i < t->cells.len; i += t->n_columns)
		has_figure = !is_absent(t, &t->cells.at[i]);
	return has_figure || !t->cells.len;
}

/* Columns needed when those that may be cut are cut to their least: all of them, or the extra ones. */
static size_t cut_width(const struct table *t, const struct layout *l, bool all)
{
	size_t total = t->indent, shown = 0;

	for (size_t c = 0; c < t->n_columns; c++) {
		if (!l->shown[c])
			continue;
		total += t->columns[c].min_width && (all || t->columns[c].is_extra)
		                 ? MIN(t->columns[c].min_width, l->width[c])
		                 : l->width[c];
		shown++;
	}
	return total + (shown ? shown - 1 : 0) * l->gap;
}

static size_t least_width(const struct table *t, const struct layout *l)
{
	return cut_width(t, l, true);
}

static bool drop_one(const struct table *t, struct layout *l, bool all)
{
	size_t victim = TABLE_COLUMNS_MAX;

	for (size_t c = 0; c < t->n_columns; c++)
		if (l->shown[c] && t->columns[c].drop && (all || t->columns[c].is_extra) &&
		    (victim == TABLE_COLUMNS_MAX || t->columns[c].drop > t->columns[victim].drop))
			victim = c;
	if (victim == TABLE_COLUMNS_MAX)
		return false;
	l->shown[victim] = false;
	return true;
}

/* The remaining width goes to the columns that may be cut, from the left. */
static void spread(const struct table *t, size_t width, struct layout *l)
{
	size_t least = least_width(t, l), spare = width > least ? width - least : 0;

	for (size_t c = 0; c < t->n_columns; c++) {
		size_t min = MIN(t->columns[c].min_width, l->width[c]), more;

		if (!l->shown[c] || !t->columns[c].min_width)
			continue;
		more = MIN(spare, l->width[c] - min);
		l->width[c] = min + more;
		spare -= more;
	}
}

struct line {
	const struct table *t;
	const struct layout *layout;
	struct canvas *to;
};

static void put_cell(struct line *line, size_t c, const char *text, size_t len, size_t columns,
                     enum ink ink)
{
	size_t width = line->layout->width[c], shown = MIN(columns, width), pad = width - shown;
	bool right = line->t->columns[c].align == TABLE_RIGHT;
	cleanup(buf_done) struct buf cut = { 0 };

	if (line->t->columns[c].in_middle && columns > width) {
		text_cut_middle(&cut, text, len, width);
		text = cut.at;
		len = cut.len;
	}
	if (right)
		canvas_pad(line->to, pad);
	canvas_text(line->to, ink, text, len, width);
	canvas_pad(line->to, (right ? 0 : pad) + line->layout->gap);
}

static void print_head(struct line *line)
{
	const struct table *t = line->t;

	canvas_pad(line->to, t->indent);
	for (size_t c = 0; c < t->n_columns; c++)
		if (line->layout->shown[c])
			put_cell(line, c, t->columns[c].name, strlen(t->columns[c].name),
			         text_columns(t->columns[c].name, strlen(t->columns[c].name)),
			         INK_TITLE);
	canvas_newline(line->to);
}

/* Bytes of the text that fit, up to the end of a word; a word that is too long for a line is
 * broken. */
static size_t fit_words(const char *text, size_t len, size_t width)
{
	size_t columns = 0, end = 0, last_word = 0;

	while (end < len) {
		size_t n = MAX(text_utf8_len(text + end, len - end), (size_t)1);

		if (text[end] == ' ')
			last_word = end;
		columns += text_columns(text + end, n);
		if (columns > width)
			return last_word ? last_word : MAX(end, n);
		end += n;
	}
	return len;
}

static void put_wrapped(struct line *line, size_t c, const struct table_cell *cell)
{
	const char *text = line->t->text.at + cell->at;
	size_t left = cell->len, at = line->t->indent;

	for (size_t i = 0; i < c; i++)
		at += line->layout->shown[i] ? line->layout->width[i] + line->layout->gap : 0;
	while (left) {
		size_t n = fit_words(text, left, line->layout->width[c]);

		put_cell(line, c, text, n, text_columns(text, n), cell->ink);
		for (; n < left && text[n] == ' '; n++)
			;
		text += n;
		left -= n;
		if (left) {
			canvas_newline(line->to);
			canvas_pad(line->to, at);
		}
	}
}

static void print_row(struct line *line, const struct table_cell *cells)
{
	const struct table *t = line->t;

	canvas_pad(line->to, t->indent);
	for (size_t c = 0; c < t->n_columns; c++)
		if (line->layout->shown[c] && t->columns[c].wraps)
			put_wrapped(line, c, &cells[c]);
		else if (line->layout->shown[c])
			put_cell(line, c, t->text.at + cells[c].at, cells[c].len, cells[c].columns,
			         cells[c].ink);
	canvas_newline(line->to);
}

bool table_fits(const struct table *t, size_t width)
{
	struct layout layout = { .gap = 1 };

	measure(t, &layout);
	return least_width(t, &layout) <= width;
}

void table_print(const struct table *t, struct canvas *to)
{
	struct layout layout = { .gap = 2 };
	struct line line = { .t = t, .layout = &layout, .to = to };

	if (!t->n_columns || t->n_columns > TABLE_COLUMNS_MAX)
		return;
	if (to->backend->table) {
		to->backend->table(to->self, t);
		return;
	}
	measure(t, &layout);
	while (cut_width(t, &layout, false) > to->width && drop_one(t, &layout, false))
		;
	if (least_width(t, &layout) > to->width) /* narrow gaps cost less than a column */
		layout.gap = 1;
	while (least_width(t, &layout) > to->width && drop_one(t, &layout, true))
		;
	spread(t, to->width, &layout);
	if (t->columns[0].name)
		print_head(&line);
	for (size_t i = 0; i + t->n_columns <= t->cells.len; i += t->n_columns)
		print_row(&line, &t->cells.at[i]);
}

void table_print_prose(struct canvas *to, const char *text, enum ink ink, size_t indent)
{
	static const struct table_column columns[] = { { .wraps = true, .min_width = 20 } };
	struct table t = { .columns = columns, .n_columns = 1, .indent = indent };

	table_add(&t, text, ink);
	table_print(&t, to);
	table_done(&t);
}

void table_print_section(struct table *t, const char *title, size_t total, const char *noun,
                         struct canvas *to)
{
	size_t rest = total - t->cells.len / t->n_columns;

	if (t->cells.len) {
		canvas_title(to, title);
		table_print(t, to);
	}
	if (rest)
		canvas_printf(to, INK_PLAIN, "  … and %s more %s%s\n", format_count(rest).at, noun,
		              rest == 1 ? "" : "s");
	table_done(t);
}
