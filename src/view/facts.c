/* SPDX-License-Identifier: MIT */
#include "view/facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define FACTS_MAX 1024
#define PARTS_MAX 8192
#define PART_COLUMNS_MAX 400
#define RIGHT_GAP 4

static const struct {
	const char *text, *at_end; /* between two parts; where the line is broken */
} joins[] = {
	[FACT_GLANCE] = { "   ", "" }, [FACT_COMMA] = { ", ", "," }, [FACT_WORD] = { " ", "" },
	[FACT_WHOLE] = { "   ", "" },  [FACT_ASIDE] = { "   ", "" },
};

static void put_text(struct buf *to, const char *text, size_t *ret_at, size_t *ret_len)
{
	*ret_at = to->len;
	text_display(to, text, strlen(text), PART_COLUMNS_MAX);
	*ret_len = to->len - *ret_at;
}

void facts_begin(struct facts *f, const char *label, const char *right)
{
	struct fact *fact = vec_push(&f->list, FACTS_MAX);

	if (!fact)
		return;
	fact->first = f->parts.len;
	put_text(&f->text, label, &fact->label_at, &fact->label_len);
	put_text(&f->text, right, &fact->right_at, &fact->right_len);
}

void facts_begin_head(struct facts *f, const char *label, const char *right)
{
	facts_begin(f, label, right);
	f->list.at[f->list.len - 1].is_head = true;
}

void facts_ink(struct facts *f, enum ink ink)
{
	f->list.at[f->list.len - 1].ink = ink;
}

void facts_join(struct facts *f, enum fact_join join, const char *fmt, ...)
{
	struct fact *fact = f->list.len ? &f->list.at[f->list.len - 1] : NULL;
	struct fact_part *part = fact ? vec_push(&f->parts, PARTS_MAX) : NULL;
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
	fact->n++;
}

void facts_unless_any(struct facts *f, const char *otherwise)
{
	if (!f->list.at[f->list.len - 1].n)
		facts_part(f, "%s", otherwise);
}

/* Where the parts of a line begin. */
static size_t parts_at(const struct facts *f, const struct fact *fact)
{
	size_t label = text_columns(f->text.at + fact->label_at, fact->label_len);

	return fact->is_head ? label + 2 : f->indent + MAX(f->label_columns, label + (label > 0));
}

static size_t parts_end(const struct facts *f, const struct fact *fact)
{
	size_t at = parts_at(f, fact);

	for (size_t i = 0; i < fact->n; i++) {
		const struct fact_part *part = &f->parts.at[fact->first + i];

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

static struct layout lay_out(const struct facts *f, size_t width)
{
	size_t end = 0, widest = 0;

	vec_each(&f->list, fact) {
		end = MAX(end, parts_end(f, fact));
		widest = MAX(widest, text_columns(f->text.at + fact->right_at, fact->right_len));
	}
	if (widest && end + RIGHT_GAP + widest <= width)
		return (struct layout){ end + RIGHT_GAP, width };
	if (widest && widest < RIGHT_WIDTH_MIN / 3 && width >= RIGHT_WIDTH_MIN)
		return (struct layout){ width - widest, width - widest - RIGHT_GAP };
	return (struct layout){ SIZE_MAX, width };
}

struct line {
	const struct facts *f;
	const struct fact *fact;
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
	const struct fact *fact = line->fact;
	size_t columns = text_columns(line->f->text.at + fact->label_at, fact->label_len);

	if (!fact->is_head)
		canvas_pad(line->to, line->f->indent);
	put_inked(line, fact->is_head ? INK_TITLE : INK_LABEL, fact->label_at, fact->label_len,
	          SIZE_MAX);
	line->used = parts_at(line->f, fact);
	canvas_pad(line->to, line->used - columns - (fact->is_head ? 0 : line->f->indent));
}

/* On this line or on the next; `tail` columns must be left behind it. */
static void put_part(struct line *line, const struct fact_part *part, size_t tail, enum ink ink)
{
	size_t begin = parts_at(line->f, line->fact), gap = strlen(joins[part->join].text);
	size_t room = line->limit > begin + tail ? line->limit - begin - tail : 0;
	size_t columns = part->join == FACT_WHOLE ? part->columns : MIN(part->columns, room);
	bool fits = line->is_empty || line->used + gap + columns + tail <= line->limit;

	if (!fits && part->join == FACT_ASIDE)
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
	return line->fact->is_head ? INK_PLAIN : INK_QUALITY;
}

static void put_line(const struct facts *f, const struct fact *fact, struct layout layout,
                     struct canvas *to)
{
	struct line line = {
		.f = f, .fact = fact, .to = to, .limit = layout.limit, .is_empty = true
	};

	put_label(&line);
	for (size_t i = 0; i < fact->n; i++) {
		const struct fact_part *part = &f->parts.at[fact->first + i];
		bool has_comma = i + 1 < fact->n && part[1].join == FACT_COMMA;

		put_part(&line, part, has_comma, fact->ink);
	}
	if (fact->right_len && layout.right > line.used && layout.right != SIZE_MAX) {
		canvas_pad(to, layout.right - line.used);
		put_inked(&line, right_ink(&line), fact->right_at, fact->right_len, SIZE_MAX);
	} else if (fact->right_len) {
		const struct fact_part last = { .at = fact->right_at,
			                        .len = fact->right_len,
			                        .columns = text_columns(f->text.at + fact->right_at,
			                                                fact->right_len),
			                        .join = FACT_GLANCE };

		put_part(&line, &last, 0, right_ink(&line));
	}
	canvas_newline(to);
}

void facts_print(const struct facts *f, struct canvas *to)
{
	struct layout layout = lay_out(f, to->width);

	vec_each(&f->list, fact)
		put_line(f, fact, layout, to);
}

void facts_done(struct facts *f)
{
	vec_done(&f->list);
	vec_done(&f->parts);
	buf_done(&f->text);
}
