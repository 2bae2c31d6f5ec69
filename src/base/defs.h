/* SPDX-License-Identifier: MIT */
/* defs.h - the few words that the compiler offers and C does not name. */
#pragma once

#include <stddef.h>
#include <unistd.h>

#define must_check __attribute__((warn_unused_result))
#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))
#define cleanup(fn) __attribute__((cleanup(fn)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof *(a))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Hands over what a cleanup variable owns: its value, leaving NULL behind. */
#define TAKE_PTR(ptr)                                                                              \
	({                                                                                         \
		typeof(ptr) taken_ = (ptr);                                                        \
		(ptr) = NULL;                                                                      \
		taken_;                                                                            \
	})
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})

/* Defines TYPE_closep-like helpers for cleanup(): DEFINE_CLEANUP(struct store *, store_close). */
#define DEFINE_CLEANUP(type, fn)                                                                   \
	static inline void fn##p(type *ptr)                                                        \
	{                                                                                          \
		if (*ptr)                                                                          \
			fn(*ptr);                                                                  \
	}

/* Closing twice is harmless: by then the number may be another file's. */
static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
