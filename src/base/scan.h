/* SPDX-License-Identifier: MIT */
/* scan.h - a bounded cursor over text from outside. It never writes into the text, never depends on
 * the locale and never reads past `end`. A function that fails leaves its result unchanged, but the
 * cursor may have moved. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"

struct scan {
	const char *p, *end;
};

struct scan scan_str(const char *s); /* up to the NUL */
struct scan scan_mem(const char *p, size_t n);

bool scan_at_end(const struct scan *s);
bool scan_is_digit(char c); /* in ASCII, whatever the locale is */
bool scan_at_digit(const struct scan *s);
void scan_blanks(struct scan *s);               /* skips spaces and tabs */
bool scan_lit(struct scan *s, const char *lit); /* skips exactly this text */
bool scan_u64(struct scan *s, uint64_t *ret);   /* decimal, after blanks; fails on overflow */
bool scan_hex(struct scan *s, uint64_t *ret);   /* after blanks, no 0x */
/* "1.25" with 3 decimals → 1250; further digits are cut off. */
bool scan_fixed(struct scan *s, unsigned decimals, uint64_t *ret);
/* The same for what a user types: also ".25". */
bool scan_typed(struct scan *s, unsigned decimals, uint64_t *ret);
bool scan_double(struct scan *s, double *ret);    /* [-]digits[.digits], no exponent */
bool scan_word(struct scan *s, struct scan *ret); /* up to a blank or newline; not empty */
bool scan_skip(struct scan *s, unsigned words);   /* skips that many words */
/* The text up to c, which is skipped; false if there is none. */
bool scan_until(struct scan *s, char c, struct scan *ret);
/* The text up to a newline, which is skipped, or to the end; false at the end. */
bool scan_line(struct scan *s, struct scan *ret);
bool scan_eq(const struct scan *s, const char *text); /* whether the rest is exactly this text */
size_t scan_left(const struct scan *s);
