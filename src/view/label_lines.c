/* SPDX-License-Identifier: MIT */
#include "view/label_lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define LABEL_LINES_MAX 1024
#define PARTS_MAX 8192
#define PART_COLUMNS_MAX 400
#define RIGHT_GAP 4

static const struct {
	const char *text, *at_end; /* between two parts; where the line is broken */
} joins[] = {
	[LABEL_GLANCE] = { "   ", "" }, [LABEL_COMMA] = { ", ", "," }, [LABEL_WORD] = { " ", "" },
	[LABEL_WHOLE] = { "   ", "" },  [LABEL_ASIDE] = { "   ", "" },
};

static void put_text(struct buf *to, const char *text, size_t *ret_at, size_t *ret_len)
{
	*ret_at = to->len;
	text_display(to, text, strlen(text), PART_COLUMNS_MAX);
	*ret_len = to->len - *ret_at;
}

void label_lines_begin(struct label_lines *f, const char *label, const char *right)
{
	struct label_line *row = vec_push(&f->list, LABEL_LINES_MAX);

	if (!row)
		return;
	row->first = f->parts.len;
	put_text(&f->text, label, &row->label_at, &row->label_len);
	put_text(&f->text, right, &row->right_at, &row->right_len);
}

void label_lines_begin_head(struct label_lines *f, const char *label, const char *right)
{
	label_lines_begin(f, label, right);
	f->list.at[f->list.len - 1].is_head = true;
}

void label_lines_ink(struct label_lines *f, enum ink ink)
{
	f->list.at[f->list.len - 1].ink = ink;
}

void label_lines_join(struct label_lines *f, enum label_join join, const char *fmt, ...)
{
	struct label_line *row = f->list.len ? &f->list.at[f->list.len - 1] : NULL;
	struct label_line_part *part = row ? vec_push(&f->parts, PARTS_MAX) : NULL;
	char raw[1024];
	va_list ap;

	if (!part)
		return;
	va_start(ap, fmt);
	vsnprintf(raw, sizeof raw, fmt, ap);
	va_end(ap);
	part->join = join;
	put_text(&f->text, raw, &part->at, &part->len);
	part->columns = text_columns(f->text.at + part->at, part->len);
	row->n++;
}

void label_lines_unless_any(struct label_lines *f, const char *otherwise)
{
	if (!f->list.at[f->list.len - 1].n)
		label_lines_part(f, "%s", otherwise);
}

/* Where the parts of a line begin. */
static size_t parts_at(const struct label_lines *f, const struct label_line *row)
{
	size_t label = text_columns(f->text.at + row->label_at, row->label_len);

	return row->is_head ? label + 2 : f->indent + MAX(f->label_columns, label + (label > 0));
}

static size_t parts_end(const struct label_lines *f, const struct label_line *row)
{
	size_t at = parts_at(f, row);

	for (size_t i = 0; i < row->n; i++) {
		const struct label_line_part *part = &f->parts.at[row->first + i];

		at += part->columns + (i ? strlen(joins[part->join].text) : 0);
	}
	return at;
}

/* Where the words at the right stand, and where the parts must end. */
struct layout {
	size_t right; /* SIZE_MAX: they come behind the parts */
	size_t limit;
};

#define RIGHT_WIDTH_MIN 72 /* below it a column of its own would leave too little room */

static struct layout lay_out(const struct label_lines *f, size_t width)
{
	size_t end = 0, widest = 0;

	vec_each(&f->list, row) {
		end = MAX(end, parts_end(f, row));
		widest = MAX(widest, text_columns(f->text.at + row->right_at, row->right_len));
	}
	if (widest && end + RIGHT_GAP + widest <= width)
		return (struct layout){ end + RIGHT_GAP, width };
	if (widest && widest < RIGHT_WIDTH_MIN / 3 && width >= RIGHT_WIDTH_MIN)
		return (struct layout){ width - widest, width - widest - RIGHT_GAP };
	return (struct layout){ SIZE_MAX, width };
}

struct line {
	const struct label_lines *f;
	const struct label_line *row;
	struct canvas *to;
	size_t used, limit;
	bool is_empty; /* of parts */
};

static void put_inked(struct line *line, enum ink ink, size_t at, size_t len, size_t columns)
{
	if (len)
		canvas_text(line->to, ink, line->f->text.at + at, len, columns);
}

static void put_label(struct line *line)
{
	const struct label_line *row = line->row;
	size_t columns = text_columns(line->f->text.at + row->label_at, row->label_len);

	if (!row->is_head)
		canvas_pad(line->to, line->f->indent);
	put_inked(line, row->is_head ? INK_TITLE : INK_LABEL, row->label_at, row->label_len,
	          SIZE_MAX);
	line->used = parts_at(line->f, row);
	canvas_pad(line->to, line->used - columns - (row->is_head ? 0 : line->f->indent));
}

/* On this line or on the next; `tail` columns must be left behind it. */
static void put_part(struct line *line, const struct label_line_part *part, size_t tail, enum ink ink)
{
	size_t begin = parts_at(line->f, line->row), gap = strlen(joins[part->join].text);
	size_t room = line->limit > begin + tail ? line->limit - begin - tail : 0;
	size_t columns = part->join == LABEL_WHOLE ? part->columns : MIN(part->columns, room);
	bool fits = line->is_empty || line->used + gap + columns + tail <= line->limit;

	if (!fits && part->join == LABEL_ASIDE)
		return;
	if (!fits) {
		canvas_put(line->to, INK_PLAIN, joins[part->join].at_end);
		canvas_newline(line->to);
		canvas_pad(line->to, begin);
		line->used = begin;
	} else if (!line->is_empty) {
		canvas_put(line->to, INK_PLAIN, joins[part->join].text);
		line->used += gap;
	}
	put_inked(line, ink, part->at, part->len, columns);
	line->used += columns;
	line->is_empty = false;
}

static enum ink right_ink(const struct line *line)
{
	return line->row->is_head ? INK_PLAIN : INK_QUALITY;
}

static void put_line(const struct label_lines *f, const struct label_line *row, struct layout layout,
                     struct canvas *to)
{
	struct line line = {
		.f = f, .row = row, .to = to, .limit = layout.limit, .is_empty = true
	};

	put_label(&line);
	for (size_t i = 0; i < row->n; i++) {
		const struct label_line_part *part = &f->parts.at[row->first + i];
		bool has_comma = i + 1 < row->n && part[1].join == LABEL_COMMA;

		put_part(&line, part, has_comma, row->ink);
	}
	if (row->right_len && layout.right > line.used && layout.right != SIZE_MAX) {
		canvas_pad(to, layout.right - line.used);
		put_inked(&line, right_ink(&line), row->right_at, row->right_len, SIZE_MAX);
	} else if (row->right_len) {
		const struct label_line_part last = { .at = row->right_at,
			                        .len = row->right_len,
			                        .columns = text_columns(f->text.at + row->right_at,
			                                                row->right_len),
			                        .join = LABEL_GLANCE };

		put_part(&line, &last, 0, right_ink(&line));
	}
	canvas_newline(to);
}

void label_lines_print(const struct label_lines *f, struct canvas *to)
{
	struct layout layout;

	if (to->backend->lines) {
		to->backend->lines(to->self, f);
		return;
	}
	layout = lay_out(f, to->width);
	vec_each(&f->list, row)
		put_line(f, row, layout, to);
}

void label_lines_put_parts(const struct label_lines *f, const struct label_line *row, struct buf *to)
{
	for (size_t i = 0; i < row->n; i++) {
		const struct label_line_part *part = &f->parts.at[row->first + i];
		const char *join = joins[part->join].text;

		if (i)
			buf_puts(to, strlen(join) > 2 ? " · " : join);
		buf_put(to, f->text.at + part->at, part->len);
	}
}

void label_lines_done(struct label_lines *f)
{
	vec_done(&f->list);
	vec_done(&f->parts);
	buf_done(&f->text);
}
