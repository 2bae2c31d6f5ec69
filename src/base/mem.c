/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void *checked(void *ptr)
{
	if (!ptr) {
		fputs("proctor: out of memory\n", stderr);
		abort();
	}
	return ptr;
}

void *xmalloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return checked(calloc(n ? n : 1, size ? size : 1));
}

void *xreallocarray(void *ptr, size_t n, size_t size)
{
	return checked(reallocarray(ptr, n ? n : 1, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return checked(strndup(s, n));
}

char *xasprintf(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return checked(n < 0 ? NULL : text);
}

void mem_keep_small(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 128 << 10); /* a fixed value keeps glibc from raising it */
	mallopt(M_TRIM_THRESHOLD, 256 << 10);
}
