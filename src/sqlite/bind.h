/* SPDX-License-Identifier: MIT */
/* bind.h - values for the parameters of a statement, in their order:
 *
 *	db_do(db, "UPDATE recorder SET ended = ?2 WHERE id = ?1", BINDS(bind_int(id), bind_time(ns)), err) */
#pragma once

#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bind {
	int type; /* SQLITE_NULL, _INTEGER, _FLOAT or _TEXT */
	size_t len;
	union {
		int64_t integer;
		double real;
		const char *text;
	};
};

/* The array of these values and their number, for two parameters of a function. */
#define BINDS(...)                                                                                 \
	(const struct bind[]){ __VA_ARGS__ },                                                      \
		sizeof((const struct bind[]){ __VA_ARGS__ }) / sizeof(struct bind)

static inline struct bind bind_int(int64_t value)
{
	return (struct bind){ .type = SQLITE_INTEGER, .integer = value };
}

/* NULL when the condition is false. */
static inline struct bind bind_int_if(bool has, int64_t value)
{
	return has ? bind_int(value) : (struct bind){ .type = SQLITE_NULL };
}

static inline struct bind bind_nonzero(int64_t value)
{
	return bind_int_if(value != 0, value);
}

/* NULL for COLUMN_ABSENT and anything else below zero. */
static inline struct bind bind_or_null(int64_t value)
{
	return bind_int_if(value >= 0, value);
}

/* NULL for what is not finite. */
static inline struct bind bind_real(double value)
{
	return (struct bind){ .type = isfinite(value) ? SQLITE_FLOAT : SQLITE_NULL, .real = value };
}

struct bind bind_time(uint64_t wall_ns); /* NULL for 0 */

/* Text of any bytes, copied: invalid UTF-8 becomes U+FFFD, and it ends before a NUL. */
static inline struct bind bind_text(const char *text, size_t max)
{
	return (struct bind){ .type = text ? SQLITE_TEXT : SQLITE_NULL, .len = max, .text = text };
}

static inline struct bind bind_str(const char *text)
{
	return bind_text(text, text ? strlen(text) : 0);
}

/* NULL for "", too. */
static inline struct bind bind_text_or_null(const char *text, size_t max)
{
	return bind_text(max && text && *text ? text : NULL, max);
}

void bind_value(sqlite3_stmt *stmt, int index, struct bind value);
