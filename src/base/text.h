/* SPDX-License-Identifier: MIT */
/* text.h - text from outside before it is shown: whether it is valid, how to make it safe for a
 * terminal, and how wide it is. Also amounts of bytes as text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The length of the valid UTF-8 character at s (1 to 4; shortest form, no surrogates), or 0. */
size_t text_utf8_len(const char *s, size_t n);

/* Whether the valid UTF-8 character of `len` bytes at s must not reach a terminal, or the reader of a file, as it
 * is: a control character (C0, DEL, C1), or one that reorders or hides the text around it. */
bool text_is_unsafe(const char *s, size_t len, uint32_t *ret_code_point);

/* Appends s for a terminal: control characters (C0, DEL, C1 also as UTF-8), bidi overrides and
 * invalid UTF-8 become \xNN or \u{NNNN}, a newline becomes \n. At most `max_columns` columns; text
 * that is cut ends in '…'. */
void text_display(struct buf *to, const char *s, size_t n, size_t max_columns);

/* Appends text that text_display() made, shortened to at most `max_columns` columns by a '…' in its middle, so
 * that both ends can be read. */
void text_cut_middle(struct buf *to, const char *s, size_t n, size_t max_columns);

/* Makes the text of `len` bytes in `to`, which was cut, end in '…' after a whole character, within
 * `cap` bytes. Returns its new length. Without room for '…' nothing changes. */
size_t text_mark_cut(char *to, size_t len, size_t cap);
/* Copies a string into `cap` bytes; text that does not fit is cut and ends in '…'. */
void text_copy(char *to, size_t cap, const char *text);

/* The columns that a displayed text occupies: wide characters count twice, combining ones not at
 * all. */
size_t text_columns(const char *s, size_t n);

#define TEXT_BYTES_MAX 32

/* The power of 1024 in which so many bytes have at most three digits before the point. */
unsigned text_byte_unit(double bytes);
const char *text_byte_unit_name(unsigned unit); /* "B", "KiB", … "EiB" */
/* The bytes in that unit, with three digits that matter: "812", "6.1", "61.2". */
void text_put_bytes_in(double bytes, unsigned unit, char ret[static TEXT_BYTES_MAX]);
/* In the unit that fits: "812 B", "6.1 GiB", "412 MiB". */
void text_put_bytes(double bytes, char ret[static TEXT_BYTES_MAX]);
