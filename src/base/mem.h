/* SPDX-License-Identifier: MIT */
/* mem.h - allocation that aborts on failure. Sizes from outside are checked before they get here. */
#pragma once

#include <stdlib.h>

#include "base/defs.h"

void *xmalloc(size_t size) must_check;
void *xcalloc(size_t n, size_t size) must_check;
void *xreallocarray(void *ptr, size_t n, size_t size) must_check;
char *xstrdup(const char *s) must_check;
char *xstrndup(const char *s, size_t n) must_check;
char *xasprintf(const char *fmt, ...) must_check printf_like(1, 2);

/* Called first in main: large arrays are mapped separately, so that they grow in place and are
 * returned to the kernel, and threads share one heap. With glibc's defaults the recorder needs
 * almost twice the memory. */
void mem_keep_small(void);

/* For cleanup(freep) on any pointer. */
static inline void freep(void *ptr_to_ptr)
{
	free(*(void **)ptr_to_ptr);
}
