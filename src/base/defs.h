/* SPDX-License-Identifier: MIT */
/* defs.h - short names for compiler attributes, and a few macros that C lacks. */
#pragma once

#include <stddef.h>
#include <unistd.h>

#define must_check __attribute__((warn_unused_result))
#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))
#define cleanup(fn) __attribute__((cleanup(fn)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof *(a))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Moves ownership out of a cleanup variable: returns its value and leaves NULL (or -1) behind. */
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

/* DEFINE_CLEANUP(struct store *, store_close) defines store_closep() for cleanup(). */
#define DEFINE_CLEANUP(type, fn)                                                                   \
	static inline void fn##p(type *ptr)                                                        \
	{                                                                                          \
		if (*ptr)                                                                          \
			fn(*ptr);                                                                  \
	}

/* Sets the fd to -1, because its number may soon belong to another file. Closing twice is safe. */
static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
