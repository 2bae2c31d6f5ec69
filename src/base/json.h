/* SPDX-License-Identifier: MIT */
/* json.h - a streaming JSON writer into a buffer: commas and escapes are its business, nesting is
 * the caller's. Strings are bytes from anywhere: what is not UTF-8 becomes U+FFFD, so the output is
 * always valid JSON. */
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
void json_key_text(struct json *j, const char *key); /* a name from outside */
void json_nil(struct json *j); /* null; not json_null, which is jansson's and would be called by its
                                  parser */
void json_bool(struct json *j, bool v);
void json_u64(struct json *j, uint64_t v);
void json_i64(struct json *j, int64_t v);
void json_fixed(struct json *j, uint64_t v, unsigned decimals); /* 1250 with 3 → 1.25 */
void json_double(struct json *j, double v, unsigned decimals);  /* not finite → null */
void json_exact(struct json *j,
                double v); /* the shortest that reads back the same; not finite → null */
void json_str(struct json *j, const char *s); /* NULL → null */
void json_strn(struct json *j, const char *s, size_t n);
void json_raw(struct json *j, const char *text, size_t n); /* a value that is JSON already */

/* A name of ours: not escaped. In the header because names are literals: their length is known to
 * the compiler. */
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
