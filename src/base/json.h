/* SPDX-License-Identifier: MIT */
/* json.h - a streaming JSON writer into a buffer. It takes care of commas and escapes; the caller
 * takes care of nesting. Strings may be any bytes: invalid UTF-8 becomes U+FFFD, so the output is
 * always valid JSON. Characters that a terminal would obey (text_is_unsafe) are written as \uNNNN. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

struct json {
	struct buf *out;
	bool need_comma;
};

void json_begin_object(struct json *j);
void json_end_object(struct json *j);
void json_begin_array(struct json *j);
void json_end_array(struct json *j);
void json_key_text(struct json *j, const char *key); /* a key that may need escapes */
/* null. The name json_null belongs to jansson, whose parser would call ours. */
void json_nil(struct json *j);
void json_bool(struct json *j, bool v);
void json_u64(struct json *j, uint64_t v);
void json_i64(struct json *j, int64_t v);
void json_fixed(struct json *j, uint64_t v, unsigned decimals); /* 1250 with 3 → 1.25 */
void json_double(struct json *j, double v, unsigned decimals);  /* not finite → null */
/* The shortest text that reads back as the same number; not finite → null. */
void json_exact(struct json *j, double v);
void json_str(struct json *j, const char *s); /* NULL → null */
void json_strn(struct json *j, const char *s, size_t n);
void json_raw(struct json *j, const char *text, size_t n); /* a value that is JSON already */
/* The same for valid JSON from an untrusted source: unsafe characters in it are escaped. */
void json_raw_escaped(struct json *j, const char *text, size_t n);

/* Removes the members of objects that are null from the compact JSON in `text`, from offset `from` on.
 * Elements of arrays stay. */
void json_omit_nulls(struct buf *text, size_t from);

/* A key that needs no escapes. Inline, because keys are literals whose length the compiler knows. */
static inline void json_key(struct json *j, const char *key)
{
	size_t n = strlen(key);
	char *to = buf_grow(j->out, n + 4);

	if (to) {
		*to = ',';
		to += j->need_comma;
		*to++ = '"';
		memcpy(to, key, n);
		memcpy(to + n, "\":", 3);
		j->out->len = (size_t)(to + n + 2 - j->out->at);
	}
	j->need_comma = false;
}

/* A member: the key and its value in one call. Keys need no escapes. */
static inline void json_put_str(struct json *j, const char *key, const char *s) /* NULL → null */
{
	json_key(j, key);
	json_str(j, s);
}

static inline void json_put_text(struct json *j, const char *key, const char *s) /* "" → null */
{
	json_put_str(j, key, *s ? s : NULL);
}

static inline void json_put_u64(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_u64(j, v);
}

static inline void json_put_i64(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_i64(j, v);
}

static inline void json_put_fixed(struct json *j, const char *key, uint64_t v, unsigned decimals)
{
	json_key(j, key);
	json_fixed(j, v, decimals);
}

static inline void json_put_double(struct json *j, const char *key, double v, unsigned decimals)
{
	json_key(j, key);
	json_double(j, v, decimals);
}

static inline void json_put_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}

/* A member that is left out when it is empty or 0. */
static inline void json_put_any_str(struct json *j, const char *key, const char *s)
{
	if (s && *s)
		json_put_str(j, key, s);
}

static inline void json_put_any_u64(struct json *j, const char *key, uint64_t v)
{
	if (v)
		json_put_u64(j, key, v);
}

/* A member that is an object or an array, left open. */
static inline void json_open_object(struct json *j, const char *key)
{
	json_key(j, key);
	json_begin_object(j);
}

static inline void json_open_array(struct json *j, const char *key)
{
	json_key(j, key);
	json_begin_array(j);
}
