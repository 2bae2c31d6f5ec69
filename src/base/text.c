/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include "base/defs.h"

static bool is_tail(const char *s, size_t i)
{
	return ((unsigned char)s[i] & 0xC0) == 0x80;
}

size_t text_utf8_len(const char *s, size_t n)
{
	const unsigned char *u = (const unsigned char *)s;

	if (n >= 1 && u[0] < 0x80)
		return 1;
	if (n >= 2 && u[0] >= 0xC2 && u[0] <= 0xDF && is_tail(s, 1))
		return 2;
	if (n >= 3 && (u[0] & 0xF0) == 0xE0 && is_tail(s, 1) && is_tail(s, 2) &&
	    !(u[0] == 0xE0 && u[1] < 0xA0) && !(u[0] == 0xED && u[1] >= 0xA0))
		return 3;
	if (n >= 4 && u[0] >= 0xF0 && u[0] <= 0xF4 && is_tail(s, 1) && is_tail(s, 2) &&
	    is_tail(s, 3) && !(u[0] == 0xF0 && u[1] < 0x90) && !(u[0] == 0xF4 && u[1] >= 0x90))
		return 4;
	return 0;
}

static uint32_t code_point(const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;

	switch (len) {
	case 2:
		return (u[0] & 0x1Fu) << 6 | (u[1] & 0x3Fu);
	case 3:
		return (u[0] & 0x0Fu) << 12 | (u[1] & 0x3Fu) << 6 | (u[2] & 0x3Fu);
	case 4:
		return (u[0] & 0x07u) << 18 | (u[1] & 0x3Fu) << 12 | (u[2] & 0x3Fu) << 6 |
		       (u[3] & 0x3Fu);
	default:
		return u[0];
	}
}

struct range {
	uint32_t first, last;
};

static bool in_ranges(uint32_t c, const struct range *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c >= r[i].first && c <= r[i].last)
			return true;
	return false;
}

/* Control characters, and those that reorder or hide the text around them. */
static bool is_unsafe(uint32_t c)
{
	static const struct range unsafe[] = {
		{ 0x00, 0x1F },     { 0x7F, 0x9F },     { 0x61C, 0x61C },
		{ 0x200B, 0x200F }, { 0x2028, 0x202E }, { 0x2060, 0x206F },
		{ 0xFEFF, 0xFEFF }, { 0xFFF9, 0xFFFB }, { 0xE0000, 0xE007F },
	};

	return in_ranges(c, unsafe, ARRAY_LEN(unsafe));
}

bool text_is_unsafe(const char *s, size_t len, uint32_t *ret_code_point)
{
	*ret_code_point = code_point(s, len);
	return is_unsafe(*ret_code_point);
}

static unsigned columns_of(uint32_t c)
{
	static const struct range combining[] = {
		{ 0x300, 0x36F }, { 0x1AB0, 0x1AFF }, { 0x20D0, 0x20FF }, { 0xFE00, 0xFE0F }
	};
	static const struct range wide[] = {
		{ 0x1100, 0x115F },   { 0x2E80, 0x303E },   { 0x3041, 0xA4CF }, { 0xAC00, 0xD7A3 },
		{ 0xF900, 0xFAFF },   { 0xFE30, 0xFE6F },   { 0xFF00, 0xFF60 }, { 0xFFE0, 0xFFE6 },
		{ 0x1F300, 0x1FAFF }, { 0x20000, 0x3FFFD },
	};

	if (c < 0x300)
		return 1;
	if (in_ranges(c, combining, ARRAY_LEN(combining)))
		return 0;
	return in_ranges(c, wide, ARRAY_LEN(wide)) ? 2 : 1;
}

/* One character as it will be shown. */
struct glyph {
	char text[12];
	size_t bytes, columns;
};

static struct glyph glyph_of(const char *s, size_t len)
{
	uint32_t c = code_point(s, len); /* len 0: a byte that is not UTF-8 */
	struct glyph g = { .bytes = len, .columns = columns_of(c) };

	if (len && !is_unsafe(c))
		memcpy(g.text, s, len);
	else if (c == '\n')
		g.bytes = g.columns = (size_t)snprintf(g.text, sizeof g.text, "\\n");
	else
		g.bytes = g.columns = (size_t)snprintf(g.text, sizeof g.text,
		                                       !len || c < 0x80 ? "\\x%02x" : "\\u{%x}", c);
	return g;
}

void text_display(struct buf *to, const char *s, size_t n, size_t max_columns)
{
	size_t used = 0, fits_len = to->len; /* where a cut would leave room for the ellipsis */

	for (size_t i = 0, len; i < n; i += len ? len : 1) {
		len = text_utf8_len(s + i, n - i);
		struct glyph g = glyph_of(s + i, len);

		if (used + g.columns > max_columns) {
			to->len = fits_len;
			if (max_columns)
				buf_put(to, "…", strlen("…"));
			return;
		}
		buf_put(to, g.text, g.bytes);
		used += g.columns;
		if (used + 1 <= max_columns)
			fits_len = to->len;
	}
}

/* Bytes from `at` on that `columns` columns hold. */
static size_t bytes_of_columns(const char *s, size_t n, size_t columns)
{
	size_t end = 0, used = 0;

	while (end < n) {
		size_t len = MAX(text_utf8_len(s + end, n - end), (size_t)1);

		used += text_columns(s + end, len);
		if (used > columns)
			break;
		end += len;
	}
	return end;
}

void text_cut_middle(struct buf *to, const char *s, size_t n, size_t max_columns)
{
	size_t columns = text_columns(s, n), head, tail;

	if (columns <= max_columns || max_columns < 3) {
		buf_put(to, s, bytes_of_columns(s, n, max_columns));
		return;
	}
	head = (max_columns - 1) / 2;
	tail = bytes_of_columns(s, n, columns - (max_columns - 1 - head));
	if (columns - text_columns(s, tail) > max_columns - 1 - head) /* half of a wide character */
		tail += text_utf8_len(s + tail, n - tail);
	buf_put(to, s, bytes_of_columns(s, n, head));
	buf_put(to, "…", strlen("…"));
	buf_put(to, s + tail, n - tail);
}

/* The length without an incomplete character at the end. */
static size_t whole_characters(const char *s, size_t n)
{
	for (size_t back = 1; back <= 4 && back <= n; back++) {
		if (is_tail(s, n - back))
			continue;
		return (unsigned char)s[n - back] >= 0xC0 && !text_utf8_len(s + n - back, back)
		               ? n - back
		               : n;
	}
	return n;
}

size_t text_mark_cut(char *to, size_t len, size_t cap)
{
	static const char mark[] = "…";
	const size_t n = sizeof mark - 1;

	if (cap < n || (len >= n && memcmp(to + len - n, mark, n) == 0))
		return len;
	len = whole_characters(to, MIN(len, cap - n));
	memcpy(to + len, mark, n);
	return len + n;
}

void text_copy(char *to, size_t cap, const char *text)
{
	size_t len = strlen(text);

	if (!cap)
		return;
	memcpy(to, text, MIN(len, cap - 1));
	if (len > cap - 1)
		len = text_mark_cut(to, cap - 1, cap - 1);
	to[len] = '\0';
}

size_t text_columns(const char *s, size_t n)
{
	size_t columns = 0;

	for (size_t i = 0, len; i < n; i += len ? len : 1) {
		len = text_utf8_len(s + i, n - i);
		columns += len ? columns_of(code_point(s + i, len)) : 1;
	}
	return columns;
}

static const char *const byte_units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

/* A unit larger is taken before four digits would show. */
unsigned text_byte_unit(double bytes)
{
	unsigned unit = 0;

	while (unit + 1 < ARRAY_LEN(byte_units) && bytes >= 999.5) {
		bytes /= 1024;
		unit++;
	}
	return unit;
}

const char *text_byte_unit_name(unsigned unit)
{
	return byte_units[unit];
}

void text_put_bytes_in(double bytes, unsigned unit, char ret[static TEXT_BYTES_MAX])
{
	double amount = bytes / (double)(UINT64_C(1) << 10 * unit);

	snprintf(ret, TEXT_BYTES_MAX, "%.*f", unit == 0 || amount >= 99.95 ? 0 : 1, amount);
}

void text_put_bytes(double bytes, char ret[static TEXT_BYTES_MAX])
{
	unsigned unit = text_byte_unit(bytes);
	size_t len;

	text_put_bytes_in(bytes, unit, ret);
	len = strlen(ret);
	snprintf(ret + len, TEXT_BYTES_MAX - len, " %s", byte_units[unit]);
}
