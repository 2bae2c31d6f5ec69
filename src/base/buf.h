/* SPDX-License-Identifier: MIT */
/* buf.h - growable bytes with a ceiling. At the ceiling further bytes are refused and `full` is
 * set. The bytes are always followed by a NUL that is not counted, so `at` can be printed (unless
 * NULL). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"

struct buf {
	char *at;
	size_t len, cap;
	size_t max; /* ceiling in bytes; 0 means BUF_MAX_DEFAULT */
	bool full;
};

#define BUF_MAX_DEFAULT ((size_t)64 << 20)

void buf_done(struct buf *b);
void buf_reset(struct buf *b); /* empties it, keeps the memory */
void buf_relax(struct buf *b); /* empties it, and frees the memory if little of it was used */
char *buf_grow_slow(struct buf *b, size_t n);
/* Room for n more bytes and a NUL, not yet counted in len; NULL at the ceiling. */
static inline char *buf_grow(struct buf *b, size_t n)
{
	return b->cap - b->len > n && b->len + n <= b->max ? b->at + b->len : buf_grow_slow(b, n);
}
bool buf_put(struct buf *b, const void *bytes, size_t n);
bool buf_puts(struct buf *b, const char *s);
bool buf_putc(struct buf *b, char c);
bool buf_printf(struct buf *b, const char *fmt, ...) printf_like(2, 3);
void buf_put_shell_word(struct buf *b, const char *word); /* as a shell reads it back as one word */
char *buf_take(struct buf *b); /* the bytes as an owned string; the buffer is empty again */
