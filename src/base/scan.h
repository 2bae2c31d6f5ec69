/* SPDX-License-Identifier: MIT */
/* scan.h - a bounded cursor over text from outside. Nothing is written into the text, no locale is
 * asked, nothing past `end` is read. A function that fails leaves its result alone (the cursor may
 * have moved). */
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
void scan_blanks(struct scan *s);               /* skips spaces and tabs */
bool scan_lit(struct scan *s, const char *lit); /* skips exactly this text */
bool scan_u64(struct scan *s, uint64_t *ret);   /* decimal, after blanks; refuses overflow */
bool scan_i64(struct scan *s, int64_t *ret);
bool scan_hex(struct scan *s, uint64_t *ret); /* after blanks, no 0x */
bool scan_fixed(struct scan *s, unsigned decimals,
                uint64_t *ret); /* "1.25" with 3 decimals → 1250; more digits are cut */
bool scan_typed(struct scan *s, unsigned decimals,
                uint64_t *ret);                   /* the same, as identities type it: also ".25" */
bool scan_double(struct scan *s, double *ret);    /* [-]digits[.digits], no exponent */
bool scan_word(struct scan *s, struct scan *ret); /* up to a blank or newline; not empty */
bool scan_skip(struct scan *s, unsigned words);   /* that many words */
bool scan_until(struct scan *s, char c,
                struct scan *ret); /* up to c, which is eaten; false when there is none */
bool scan_line(struct scan *s,
               struct scan *ret); /* up to a newline (eaten) or the end; false at the end */
bool scan_eq(const struct scan *s, const char *text); /* all that is left is this */
size_t scan_left(const struct scan *s);
