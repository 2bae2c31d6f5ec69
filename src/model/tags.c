/* SPDX-License-Identifier: MIT */
#include "model/tags.h"

#include <string.h>

static void skip_blanks(struct scan *s)
{
	while (scan_left(s) && strchr(" \t\r\n", *s->p) && *s->p)
		s->p++;
}

static void put_utf8(struct buf *to, uint32_t c)
{
	char bytes[4];
	size_t n;

	if (c < 0x80) {
		buf_putc(to, (char)c);
		return;
	}
	n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i; i--, c >>= 6)
		bytes[i] = (char)(0x80 | (c & 0x3F));
	bytes[0] = (char)((0xF00 >> n & 0xFF) | c);
	buf_put(to, bytes, n);
}

/* Four digits of \uXXXX. */
static bool scan_unit(struct scan *s, uint32_t *ret)
{
	struct scan digits;
	uint64_t value;

	if (scan_left(s) < 4)
		return false;
	digits = scan_mem(s->p, 4);
	if (*s->p == ' ' || *s->p == '\t' || !scan_hex(&digits, &value) || !scan_at_end(&digits))
		return false;
	s->p += 4;
	*ret = (uint32_t)value;
	return true;
}

static bool scan_code_point(struct scan *s, struct buf *to)
{
	uint32_t c, low;

	if (!scan_unit(s, &c))
		return false;
	if (c >= 0xD800 && c < 0xDC00) { /* the first half of a pair */
		if (!scan_lit(s, "\\u") || !scan_unit(s, &low) || low < 0xDC00 || low > 0xDFFF)
			return false;
		c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
	} else if (c >= 0xDC00 && c < 0xE000) {
		return false;
	}
	put_utf8(to, c);
	return true;
}

static bool scan_escape(struct scan *s, struct buf *to)
{
	static const char from[] = "\"\\/bfnrt", becomes[] = "\"\\/\b\f\n\r\t";
	const char *at;

	if (!scan_left(s) || !*s->p)
		return false;
	if (*s->p == 'u') {
		s->p++;
		return scan_code_point(s, to);
	}
	at = strchr(from, *s->p);
	if (!at)
		return false;
	s->p++;
	buf_putc(to, becomes[at - from]);
	return true;
}

static bool scan_string(struct scan *s, struct buf *to)
{
	buf_reset(to);
	to->max = TAG_TEXT_MAX;
	skip_blanks(s);
	if (!scan_lit(s, "\""))
		return false;
	while (scan_left(s)) {
		char c = *s->p++;

		if (c == '"')
			return !to->full;
		if ((unsigned char)c < 0x20)
			return false;
		if (c != '\\')
			buf_putc(to, c);
		else if (!scan_escape(s, to))
			return false;
	}
	return false;
}

bool tags_next(struct scan *at, struct buf *key, struct buf *value)
{
	skip_blanks(at);
	if (!scan_lit(at, "{") && !scan_lit(at, ","))
		return false;
	if (!scan_string(at, key))
		return false;
	skip_blanks(at);
	return scan_lit(at, ":") && scan_string(at, value);
}
