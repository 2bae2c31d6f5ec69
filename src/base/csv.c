/* SPDX-License-Identifier: MIT */
#include "base/csv.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* `at` is behind the opening quote. The text up to the closing one; false: there is none. */
static bool take_quoted(struct scan *at, struct buf *unquoted, struct scan *ret)
{
	size_t begin = unquoted->len;
	const char *from = at->p;

	for (;;) {
		const char *quote = scan_at_end(at) ? NULL : memchr(at->p, '"', scan_left(at));

		if (!quote)
			return false;
		at->p = quote + 1;
		if (at->p == at->end || *at->p != '"') {
			if (unquoted->len == begin) {
				*ret = (struct scan){ from, quote };
				return true;
			}
			buf_put(unquoted, from, (size_t)(quote - from));
			*ret = scan_mem(unquoted->at + begin, unquoted->len - begin);
			return true;
		}
		buf_put(unquoted, from, (size_t)(at->p - from)); /* with one of the two */
		from = ++at->p;
	}
}

static void take_plain(struct scan *at, char separator, struct scan *ret)
{
	ret->p = at->p;
	while (at->p < at->end && *at->p != separator && *at->p != '\n')
		at->p++;
	ret->end = at->p;
	if (ret->end > ret->p && ret->end[-1] == '\r' && (at->p == at->end || *at->p == '\n'))
		ret->end--;
}

static int skip_line(struct scan *text, struct err *err, const char *why)
{
	struct scan line;

	(void)scan_line(text, &line);
	return err_set(err, EBADMSG, "%s", why);
}

/* 1: the row ends behind this field; 0: it goes on; -1: neither separator nor end follows. */
static int end_field(struct scan *at, char separator)
{
	if (at->p < at->end && *at->p == separator) {
		at->p++;
		return 0;
	}
	(void)scan_lit(at, "\r");
	return scan_at_end(at) || scan_lit(at, "\n") ? 1 : -1;
}

int csv_split(struct scan *text, struct csv_format format, bool is_last, struct buf *unquoted,
              struct csv_row *ret, struct err *err)
{
	struct scan at = *text;
	size_t n = 0;
	int end = 0;

	if (scan_at_end(&at))
		return 0;
	buf_reset(unquoted);
	while (!end) {
		struct scan *field = &ret->field[n];

		if (n == CSV_FIELDS_MAX)
			return skip_line(text, err, "too many fields");
		if (!format.is_quoted || !scan_lit(&at, "\""))
			take_plain(&at, format.separator, field);
		else if (!take_quoted(&at, unquoted, field))
			return is_last ? skip_line(text, err, "a quote is not closed") : 0;
		n++;
		if (scan_at_end(&at) && !is_last)
			return 0;
		end = end_field(&at, format.separator);
		if (end < 0)
			return skip_line(text, err, "text after a closing quote");
	}
	ret->n = n;
	*text = at;
	return 1;
}

void csv_init(struct csv *c, int fd)
{
	*c = (struct csv){ .fd = fd, .line = 1, .bytes = xmalloc(CSV_ROW_MAX) };
	(void)buf_grow(&c->unquoted, CSV_ROW_MAX);
}

void csv_done(struct csv *c)
{
	free(c->bytes);
	buf_done(&c->unquoted);
	*c = (struct csv){ .fd = -1 };
}

/* The bytes that are left move to the front. */
static int fill(struct csv *c, struct err *err)
{
	ssize_t n;

	memmove(c->bytes, c->bytes + c->from, c->to - c->from);
	c->to -= c->from;
	c->from = 0;
	do
		n = read(c->fd, c->bytes + c->to, CSV_ROW_MAX - c->to);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_set(err, errno, "read: %s", strerror(errno));
	c->to += (size_t)n;
	c->is_at_end = n == 0;
	return 0;
}

/* The separator is the one that the first line has, whatever stands between. */
static void detect_format(struct csv *c)
{
	struct scan text = scan_mem(c->bytes + c->from, c->to - c->from), line;

	if (scan_lit(&text, "\xef\xbb\xbf"))
		c->from += 3;
	c->format = (struct csv_format){ ',', true };
	if (!scan_line(&text, &line) || scan_at_end(&line))
		return;
	if (memchr(line.p, '\t', scan_left(&line)))
		c->format.separator = '\t';
	else if (memchr(line.p, '|', scan_left(&line)))
		c->format = (struct csv_format){ '|', false };
}

static void move_to(struct csv *c, const char *p)
{
	for (const char *at = c->bytes + c->from;
	     at < p && (at = memchr(at, '\n', (size_t)(p - at))); at++)
		c->line++;
	c->taken += (size_t)(p - (c->bytes + c->from));
	c->from = (size_t)(p - c->bytes);
}

/* The buffer is full and holds no whole row: an open quote, or a long line. Both go on at the next line. */
static int skip_long(struct csv *c, struct err *err)
{
	struct scan text = scan_mem(c->bytes + c->from, c->to - c->from), line;

	c->is_skipping = !scan_until(&text, '\n', &line);
	move_to(c, c->is_skipping ? text.end : text.p);
	return err_set(err, EBADMSG, "the row is longer than %zu bytes", CSV_ROW_MAX);
}

/* The rest of a line that was too long. */
static void skip_rest(struct csv *c)
{
	struct scan text = scan_mem(c->bytes + c->from, c->to - c->from), line;

	c->is_skipping = !scan_until(&text, '\n', &line) && !c->is_at_end;
	move_to(c, c->is_skipping ? text.end : text.p);
}

static bool is_empty(const struct csv_row *row)
{
	return row->n == 1 && scan_at_end(&row->field[0]);
}

int csv_next(struct csv *c, struct csv_row *ret, struct err *err)
{
	for (;;) {
		struct scan text = scan_mem(c->bytes + c->from, c->to - c->from);
		int r = 0;

		ret->line = c->line;
		if (c->is_skipping)
			skip_rest(c);
		else if (c->format.separator)
			r = csv_split(&text, c->format, c->is_at_end, &c->unquoted, ret, err);
		if (r)
			move_to(c, text.p);
		if (r < 0 || (r > 0 && !is_empty(ret)))
			return r;
		if (r > 0)
			continue;
		if (c->is_at_end && (c->from == c->to || !c->format.separator))
			return 0;
		if (c->to - c->from == CSV_ROW_MAX)
			return skip_long(c, err);
		if (fill(c, err) < 0)
			return -err->code;
		if (!c->format.separator)
			detect_format(c);
	}
}
