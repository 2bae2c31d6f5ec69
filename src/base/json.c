/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void json_raw(struct json *j, const char *text, size_t n)
{
	char *to = buf_grow(j->out, n + 1);

	if (to) {
		*to = ',';
		to += j->need_comma;
		memcpy(to, text, n);
		to[n] = '\0';
		j->out->len = (size_t)(to + n - j->out->at);
	}
	j->need_comma = true;
}

void json_begin_object(struct json *j)
{
	json_raw(j, "{", 1);
	j->need_comma = false;
}

void json_end_object(struct json *j)
{
	buf_putc(j->out, '}');
	j->need_comma = true;
}

void json_begin_array(struct json *j)
{
	json_raw(j, "[", 1);
	j->need_comma = false;
}

void json_end_array(struct json *j)
{
	buf_putc(j->out, ']');
	j->need_comma = true;
}

void json_nil(struct json *j)
{
	json_raw(j, "null", 4);
}

void json_bool(struct json *j, bool v)
{
	json_raw(j, v ? "true" : "false", v ? 4 : 5);
}

/* Digits of v, right-aligned before `end`. */
static char *digits_before(char *end, uint64_t v)
{
	do {
		*--end = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	return end;
}

void json_u64(struct json *j, uint64_t v)
{
	char text[20], *p = digits_before(text + sizeof text, v);

	json_raw(j, p, (size_t)(text + sizeof text - p));
}

void json_i64(struct json *j, int64_t v)
{
	char text[21],
		*p = digits_before(text + sizeof text, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);

	if (v < 0)
		*--p = '-';
	json_raw(j, p, (size_t)(text + sizeof text - p));
}

/* Trailing zeros of the fraction are dropped: 1250 with 3 decimals → "1.25", 2000 → "2.0". */
static void put_fixed(struct json *j, bool negative, uint64_t v, unsigned decimals)
{
	char text[24], *end = text + sizeof text, *p = end;

	for (; decimals > 1 && v % 10 == 0; decimals--)
		v /= 10;
	for (unsigned i = decimals; i; i--) {
		*--p = (char)('0' + v % 10);
		v /= 10;
	}
	if (decimals)
		*--p = '.';
	p = digits_before(p, v);
	if (negative)
		*--p = '-';
	json_raw(j, p, (size_t)(end - p));
}

void json_fixed(struct json *j, uint64_t v, unsigned decimals)
{
	put_fixed(j, false, v, decimals);
}

void json_double(struct json *j, double v, unsigned decimals)
{
	static const double scale[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6 };
	double scaled;

	decimals = MIN(decimals, (unsigned)ARRAY_LEN(scale) - 1);
	scaled = round(fabs(v) * scale[decimals]);
	if (!isfinite(v) || scaled >= 1e18) {
		json_nil(j);
		return;
	}
	put_fixed(j, v < 0 && scaled > 0, (uint64_t)scaled, decimals);
}

void json_exact(struct json *j, double v)
{
	char text[40];
	size_t n;

	if (!isfinite(v)) {
		json_nil(j);
		return;
	}
	for (int figures = 15; figures <= 17; figures++) {
		n = (size_t)snprintf(text, sizeof text, "%.*g", figures, v);
		if (strtod(text, NULL) == v)
			break;
	}
	if (!memchr(text, '.', n) && !memchr(text, 'e', n)) {
		memcpy(text + n, ".0", 2);
		n += 2;
	}
	json_raw(j, text, n);
}

static void put_unit(struct buf *out, uint32_t unit)
{
	static const char hex[] = "0123456789abcdef";

	buf_put(out,
	        (char[]){ '\\', 'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15],
	                  hex[unit & 15] },
	        6);
}

/* Characters beyond 16 bits are two units. */
static void put_code_point(struct buf *out, uint32_t c)
{
	if (c > 0xffff) {
		put_unit(out, 0xd800 + ((c - 0x10000) >> 10));
		c = 0xdc00 + ((c - 0x10000) & 0x3ff);
	}
	put_unit(out, c);
}

static void put_escaped(struct buf *out, unsigned char c)
{
	switch (c) {
	case '"':
		buf_put(out, "\\\"", 2);
		break;
	case '\\':
		buf_put(out, "\\\\", 2);
		break;
	case '\n':
		buf_put(out, "\\n", 2);
		break;
	case '\t':
		buf_put(out, "\\t", 2);
		break;
	default:
		put_unit(out, c);
	}
}

void json_strn(struct json *j, const char *s, size_t n)
{
	const char *end = s + n, *plain = s;

	json_raw(j, "\"", 1);
	while (s < end) {
		unsigned char c = (unsigned char)*s;
		uint32_t code_point;
		size_t len = 1;

		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
			s++;
			continue;
		}
		if (c >= 0x80)
			len = text_utf8_len(s, (size_t)(end - s));
		if (c >= 0x80 && len && !text_is_unsafe(s, len, &code_point)) {
			s += len;
			continue;
		}
		buf_put(j->out, plain, (size_t)(s - plain));
		if (c < 0x80)
			put_escaped(j->out, c);
		else if (len)
			put_code_point(j->out, code_point);
		else
			buf_put(j->out, "\xef\xbf\xbd", 3);
		s += MAX(len, (size_t)1);
		plain = s;
	}
	buf_put(j->out, plain, (size_t)(s - plain));
	buf_putc(j->out, '"');
}

/* Outside of its strings valid JSON has nothing beyond ASCII, and no control characters but blanks. */
void json_raw_escaped(struct json *j, const char *text, size_t n)
{
	const char *end = text + n, *plain = text;

	json_raw(j, "", 0);
	while (text < end) {
		size_t len = MAX(text_utf8_len(text, (size_t)(end - text)), (size_t)1);
		uint32_t code_point;

		if ((len > 1 || *text == 0x7f) && text_is_unsafe(text, len, &code_point)) {
			buf_put(j->out, plain, (size_t)(text - plain));
			put_code_point(j->out, code_point);
			plain = text + len;
		}
		text += len;
	}
	buf_put(j->out, plain, (size_t)(end - plain));
}

void json_key_text(struct json *j, const char *key)
{
	json_strn(j, key, strlen(key));
	buf_putc(j->out, ':');
	j->need_comma = false;
}

void json_str(struct json *j, const char *s)
{
	if (s)
		json_strn(j, s, strlen(s));
	else
		json_nil(j);
}

/* ---- without nulls --------------------------------------------------------------------------- */

/* The offset after the string that begins at `at`. */
static size_t string_end(const struct buf *text, size_t at)
{
	for (at++; at < text->len && text->at[at] != '"'; at++)
		at += text->at[at] == '\\';
	return MIN(at + 1, text->len);
}

/* A ':' outside of strings ends a key, which is the last string that was kept. */
void json_omit_nulls(struct buf *text, size_t from)
{
	size_t to = from, key = from, at = from;

	while (at < text->len) {
		if (text->at[at] == '"') {
			size_t n = string_end(text, at) - at;

			key = to;
			memmove(text->at + to, text->at + at, n);
			to += n;
			at += n;
		} else if (text->len - at > 5 && memcmp(text->at + at, ":null", 5) == 0) {
			to = key;
			at += 5;
			if (text->at[at] == ',')
				at++;
			else if (to > from && text->at[to - 1] == ',')
				to--;
		} else {
			text->at[to++] = text->at[at++];
		}
	}
	if (text->len)
		text->at[to] = '\0';
	text->len = to;
}
