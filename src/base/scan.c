/* SPDX-License-Identifier: MIT */
#include "base/scan.h"

#include <string.h>

struct scan scan_str(const char *s)
{
	return (struct scan){ s, s + strlen(s) };
}

struct scan scan_mem(const char *p, size_t n)
{
	return (struct scan){ p, p + n };
}

bool scan_at_end(const struct scan *s)
{
	return s->p == s->end;
}

bool scan_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool scan_at_digit(const struct scan *s)
{
	return s->p < s->end && scan_is_digit(*s->p);
}

size_t scan_left(const struct scan *s)
{
	return (size_t)(s->end - s->p);
}

void scan_blanks(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
		s->p++;
}

bool scan_lit(struct scan *s, const char *lit)
{
	size_t n = strlen(lit);

	if (scan_left(s) < n || memcmp(s->p, lit, n) != 0)
		return false;
	s->p += n;
	return true;
}

bool scan_u64(struct scan *s, uint64_t *ret)
{
	uint64_t v = 0;

	scan_blanks(s);
	if (!scan_at_digit(s))
		return false;
	for (; scan_at_digit(s); s->p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s->p - '0'), &v))
			return false;
	*ret = v;
	return true;
}

static int hex_value(char c)
{
	if (scan_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool scan_hex(struct scan *s, uint64_t *ret)
{
	uint64_t v = 0;
	unsigned digits = 0;

	scan_blanks(s);
	for (; s->p < s->end && hex_value(*s->p) >= 0; s->p++, digits++) {
		if (v >> 60)
			return false;
		v = v << 4 | (uint64_t)hex_value(*s->p);
	}
	if (!digits)
		return false;
	*ret = v;
	return true;
}

/* Continues after the whole part v. */
static bool scan_fraction(struct scan *s, uint64_t v, unsigned decimals, uint64_t *ret)
{
	if (scan_lit(s, ".") && !scan_at_digit(s))
		return false;
	for (; decimals; decimals--) {
		uint64_t digit = 0;

		if (scan_at_digit(s))
			digit = (uint64_t)(*s->p++ - '0');
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
			return false;
	}
	while (scan_at_digit(s))
		s->p++;
	*ret = v;
	return true;
}

bool scan_fixed(struct scan *s, unsigned decimals, uint64_t *ret)
{
	uint64_t v;

	return scan_u64(s, &v) && scan_fraction(s, v, decimals, ret);
}

bool scan_typed(struct scan *s, unsigned decimals, uint64_t *ret)
{
	bool has_whole = s->p == s->end || *s->p != '.';

	return has_whole ? scan_fixed(s, decimals, ret) : scan_fraction(s, 0, decimals, ret);
}

bool scan_double(struct scan *s, double *ret)
{
	bool negative;
	double v = 0, place = 1;
	unsigned digits = 0;

	scan_blanks(s);
	negative = scan_lit(s, "-");
	for (; scan_at_digit(s); s->p++, digits++)
		v = v * 10 + (*s->p - '0');
	if (scan_lit(s, "."))
		for (; scan_at_digit(s); s->p++, digits++)
			v += (*s->p - '0') * (place /= 10);
	if (!digits)
		return false;
	*ret = negative ? -v : v;
	return true;
}

bool scan_word(struct scan *s, struct scan *ret)
{
	const char *start;

	scan_blanks(s);
	start = s->p;
	while (s->p < s->end && *s->p != ' ' && *s->p != '\t' && *s->p != '\n')
		s->p++;
	if (s->p == start)
		return false;
	*ret = (struct scan){ start, s->p };
	return true;
}

bool scan_skip(struct scan *s, unsigned words)
{
	struct scan ignored;

	while (words--)
		if (!scan_word(s, &ignored))
			return false;
	return true;
}

bool scan_until(struct scan *s, char c, struct scan *ret)
{
	const char *at = s->p == s->end ? NULL : memchr(s->p, c, scan_left(s));

	if (!at)
		return false;
	*ret = (struct scan){ s->p, at };
	s->p = at + 1;
	return true;
}

bool scan_line(struct scan *s, struct scan *ret)
{
	if (scan_at_end(s))
		return false;
	if (!scan_until(s, '\n', ret)) {
		*ret = *s;
		s->p = s->end;
	}
	return true;
}

bool scan_eq(const struct scan *s, const char *text)
{
	size_t n = strlen(text);

	return scan_left(s) == n && memcmp(s->p, text, n) == 0;
}
