/* SPDX-License-Identifier: MIT */
#include "base/json_read.h"

#include <string.h>

#include "base/text.h"

static bool skip_value(struct scan *s, unsigned depth);

static void skip_space(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
		s->p++;
}

/* Called for every character that structures the text: faster than scan_lit(). */
static bool skip_char(struct scan *s, char c)
{
	if (s->p >= s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

static bool skip_digits(struct scan *s)
{
	const char *start = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > start;
}

static bool skip_number(struct scan *s)
{
	skip_char(s, '-');
	if (!skip_char(s, '0') && !skip_digits(s))
		return false;
	if (skip_char(s, '.') && !skip_digits(s))
		return false;
	if (!skip_char(s, 'e') && !skip_char(s, 'E'))
		return true;
	if (!skip_char(s, '+'))
		skip_char(s, '-');
	return skip_digits(s);
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool skip_escape(struct scan *s)
{
	if (scan_left(s) < 2)
		return false;
	if (s->p[1] != 'u') {
		bool known = memchr("\"\\/bfnrt", s->p[1], 8) != NULL;

		s->p += 2;
		return known;
	}
	if (scan_left(s) < 6)
		return false;
	for (int i = 2; i < 6; i++)
		if (!is_hex(s->p[i]))
			return false;
	s->p += 6;
	return true;
}

static bool skip_character(struct scan *s)
{
	unsigned char c = (unsigned char)*s->p;
	size_t n = c < 0x80 ? 1 : text_utf8_len(s->p, scan_left(s));

	if (c == '\\')
		return skip_escape(s);
	s->p += n;
	return n && c >= 0x20;
}

static bool skip_string(struct scan *s, struct scan *ret)
{
	const char *start;

	if (!skip_char(s, '"'))
		return false;
	start = s->p;
	while (s->p < s->end && *s->p != '"')
		if (*s->p >= 0x20 && *s->p < 0x7f && *s->p != '\\')
			s->p++;
		else if (!skip_character(s))
			return false;
	*ret = (struct scan){ start, s->p };
	return skip_char(s, '"');
}

/* After the '{', or after the ',' that follows another member. */
static bool skip_member(struct scan *s, unsigned depth, struct scan *ret_name,
                        struct scan *ret_value)
{
	skip_space(s);
	if (!skip_string(s, ret_name))
		return false;
	skip_space(s);
	if (!skip_char(s, ':'))
		return false;
	skip_space(s);
	ret_value->p = s->p;
	if (!skip_value(s, depth))
		return false;
	ret_value->end = s->p;
	skip_space(s);
	return true;
}

static bool skip_object(struct scan *s, unsigned depth)
{
	struct scan name, value;

	skip_space(s);
	if (skip_char(s, '}'))
		return true;
	do {
		if (!skip_member(s, depth, &name, &value))
			return false;
	} while (skip_char(s, ','));
	return skip_char(s, '}');
}

static bool skip_array(struct scan *s, unsigned depth)
{
	skip_space(s);
	if (skip_char(s, ']'))
		return true;
	do {
		skip_space(s);
		if (!skip_value(s, depth))
			return false;
		skip_space(s);
	} while (skip_char(s, ','));
	return skip_char(s, ']');
}

static bool skip_value(struct scan *s, unsigned depth)
{
	struct scan text;

	if (depth == 0 || scan_at_end(s))
		return false;
	if (*s->p == '"')
		return skip_string(s, &text);
	if (skip_char(s, '{'))
		return skip_object(s, depth - 1);
	if (skip_char(s, '['))
		return skip_array(s, depth - 1);
	if (*s->p == '-' || (*s->p >= '0' && *s->p <= '9'))
		return skip_number(s);
	return scan_lit(s, "null") || scan_lit(s, "true") || scan_lit(s, "false");
}

bool json_read_is_object(struct scan text)
{
	skip_space(&text);
	if (!skip_char(&text, '{') || !skip_object(&text, JSON_READ_DEPTH_MAX - 1))
		return false;
	skip_space(&text);
	return scan_at_end(&text);
}

bool json_read_next(struct scan *at, struct scan *ret_name, struct scan *ret_value)
{
	skip_space(at);
	return (skip_char(at, '{') || skip_char(at, ',')) &&
	       skip_member(at, JSON_READ_DEPTH_MAX - 1, ret_name, ret_value);
}

bool json_read_find(struct scan object, const char *name, struct scan *ret_value)
{
	struct scan found, value;

	while (json_read_next(&object, &found, &value)) {
		if (scan_eq(&found, name)) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static void put_code(struct buf *to, uint64_t c)
{
	if (c < 0x80) {
		buf_putc(to, (char)c);
		return;
	}
	if (c < 0x800) {
		buf_putc(to, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			buf_putc(to, (char)(0xe0 | c >> 12));
		} else {
			buf_putc(to, (char)(0xf0 | c >> 18));
			buf_putc(to, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		buf_putc(to, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	buf_putc(to, (char)(0x80 | (c & 0x3f)));
}

/* "u00e9": what follows the backslash. */
static bool read_unit(struct scan *s, uint64_t *ret)
{
	struct scan digits;

	if (!scan_lit(s, "u") || scan_left(s) < 4)
		return false;
	digits = scan_mem(s->p, 4);
	s->p += 4;
	return is_hex(*digits.p) && scan_hex(&digits, ret) && scan_at_end(&digits);
}

/* A character beyond 16 bits is two units: \ud83d\ude00 */
static bool read_code(struct scan *s, uint64_t *ret)
{
	uint64_t high, low;

	if (!read_unit(s, &high))
		return false;
	if (high < 0xd800 || high > 0xdfff) {
		*ret = high;
		return true;
	}
	if (high > 0xdbff || !skip_char(s, '\\') || !read_unit(s, &low) || low < 0xdc00 ||
	    low > 0xdfff)
		return false;
	*ret = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

bool json_read_text(struct scan string, struct buf *to)
{
	static const char letters[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";

	buf_reset(to);
	while (!scan_at_end(&string)) {
		const char *letter;
		uint64_t c;

		if (!skip_char(&string, '\\')) {
			buf_putc(to, *string.p++);
			continue;
		}
		letter = scan_at_end(&string) ? NULL : memchr(letters, *string.p, strlen(letters));
		if (letter) {
			buf_putc(to, meaning[letter - letters]);
			string.p++;
			continue;
		}
		if (!read_code(&string, &c))
			return false;
		put_code(to, c);
	}
	return !to->full;
}

bool json_read_milli(struct scan value, uint64_t *ret_milli)
{
	struct scan text;
	uint64_t milli;

	if (scan_left(&value) && *value.p == '"') {
		if (!skip_string(&value, &text))
			return false;
		value = text;
	}
	if (!scan_fixed(&value, 3, &milli) || !scan_at_end(&value))
		return false;
	*ret_milli = milli;
	return true;
}
