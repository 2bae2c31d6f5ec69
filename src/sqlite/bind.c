/* SPDX-License-Identifier: MIT */
#include "sqlite/bind.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "sqlite/db.h"

#define TEXT_MAX 65536

static size_t valid_prefix(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t n = (signed char)text[at] > 0 ? 1 : text_utf8_len(text + at, len - at);

		if (!n || !text[at])
			break;
		at += n;
	}
	return at;
}

static void bind_any_text(sqlite3_stmt *stmt, int index, const char *text, size_t len)
{
	struct buf clean = { .max = TEXT_MAX };
	size_t at = valid_prefix(text, len);

	if (at == len) {
		sqlite3_bind_text(stmt, index, text, (int)MIN(len, (size_t)TEXT_MAX),
		                  SQLITE_TRANSIENT);
		return;
	}
	for (; len; text += at, len -= at) {
		at = valid_prefix(text, len);
		buf_put(&clean, text, at);
		if (at < len) {
			buf_puts(&clean, "\uFFFD");
			at++;
		}
	}
	sqlite3_bind_text(stmt, index, clean.at, (int)clean.len, SQLITE_TRANSIENT);
	buf_done(&clean);
}

struct bind bind_time(uint64_t wall_ns)
{
	return wall_ns ? bind_real(db_time(wall_ns)) : bind_text(NULL, 0);
}

void bind_value(sqlite3_stmt *stmt, int index, struct bind value)
{
	if (value.type == SQLITE_INTEGER)
		sqlite3_bind_int64(stmt, index, value.integer);
	else if (value.type == SQLITE_FLOAT)
		sqlite3_bind_double(stmt, index, value.real);
	else if (value.type == SQLITE_TEXT)
		bind_any_text(stmt, index, value.text, strnlen(value.text, value.len));
	else
		sqlite3_bind_null(stmt, index);
}
