/* SPDX-License-Identifier: MIT */
/* text.h - text from outside on its way to identities: what is valid, what is safe on a terminal, how
 * wide it is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Bytes of the well-formed UTF-8 character at s (1 to 4; shortest form, no surrogates), or 0. */
size_t text_utf8_len(const char *s, size_t n);

/* Appends s for a terminal: control characters (C0, DEL, C1 also as UTF-8), bidi overrides and
 * bytes that are not UTF-8 come out as \xNN or \u{NNNN}, a newline as \n. At most `max_columns`
 * columns; a cut is shown by '…'. */
void text_display(struct buf *to, const char *s, size_t n, size_t max_columns);

/* For a text of `len` bytes in `to` that was cut: it ends in '…', between two characters, within
 * `cap` bytes. Returns its length. Nothing changes where there is no room for that. */
size_t text_mark_cut(char *to, size_t len, size_t cap);
/* A copy as a string, within `cap` bytes; what does not fit is cut, which '…' shows. */
void text_copy(char *to, size_t cap, const char *text);

/* Columns a displayed text takes: code points, with wide ones counted twice and combining ones not
 * at all. */
size_t text_columns(const char *s, size_t n);
