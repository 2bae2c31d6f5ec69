/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BUF_SMALL ((size_t)128 << 10)

void buf_done(struct buf *b)
{
	free(b->at);
	*b = (struct buf){ .max = b->max };
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->full = false;
	if (b->at)
		b->at[0] = '\0';
}

void buf_relax(struct buf *b)
{
	if (b->cap > BUF_SMALL && b->len < b->cap / 4)
		buf_done(b);
	buf_reset(b);
}

char *buf_grow_slow(struct buf *b, size_t n)
{
	size_t max = b->max = b->max ? b->max : BUF_MAX_DEFAULT;

	if (n > max || b->len > max - n) {
		b->full = true;
		return NULL;
	}
	if (b->cap - b->len < n + 1) {
		size_t cap = MAX(b->cap * 2, (size_t)64);

		while (cap - b->len < n + 1)
			cap *= 2;
		b->at = xreallocarray(b->at, cap, 1);
		b->cap = cap;
	}
	return b->at + b->len;
}

bool buf_put(struct buf *b, const void *bytes, size_t n)
{
	char *to = buf_grow(b, n);

	if (!to)
		return false;
	if (n)
		memcpy(to, bytes, n);
	b->len += n;
	b->at[b->len] = '\0';
	return true;
}

bool buf_puts(struct buf *b, const char *s)
{
	return buf_put(b, s, strlen(s));
}

bool buf_putc(struct buf *b, char c)
{
	return buf_put(b, &c, 1);
}

bool buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;
	char *to;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return false;
	to = buf_grow(b, (size_t)n);
	if (!to)
		return false;
	va_start(ap, fmt);
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return true;
}

char *buf_take(struct buf *b)
{
	char *text = b->at ? b->at : xstrdup("");

	*b = (struct buf){ .max = b->max };
	return text;
}

void buf_put_shell_word(struct buf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789%+,-./:=@_";

	if (*word && !word[strspn(word, plain)]) {
		buf_puts(b, word);
		return;
	}
	buf_putc(b, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_puts(b, "'\\''");
		else
			buf_putc(b, *word);
	buf_putc(b, '\'');
}
