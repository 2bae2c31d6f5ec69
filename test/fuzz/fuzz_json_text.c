/* SPDX-License-Identifier: MIT */
/* Text from outside on its way out: json_strn must give valid JSON whatever the bytes, text_display
 * must give nothing that moves a terminal and never more columns than it was allowed. */
#include <jansson.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "fuzz.h"

static bool is_utf8(const char *s, size_t n)
{
	size_t len;

	for (size_t at = 0; at < n; at += len)
		if (!(len = text_utf8_len(s + at, n - at)))
			return false;
	return n > 0;
}

static void check_json(const char *s, size_t n)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };
	json_error_t error;
	json_t *parsed;

	json_begin_array(&j);
	json_strn(&j, s, n);
	json_end_array(&j);
	parsed = json_loadb(out.at, out.len, JSON_ALLOW_NUL, &error);
	FUZZ_CHECK(parsed && json_is_string(json_array_get(parsed, 0)));
	if (is_utf8(s, n)) { /* comes back unchanged */
		json_t *back = json_array_get(parsed, 0);

		FUZZ_CHECK(json_string_length(back) == n &&
		           memcmp(json_string_value(back), s, n) == 0);
	}
	json_decref(parsed);
	buf_done(&out);
}

/* C0, DEL, and C1 as UTF-8: U+0080 to U+009F are C2 80 to C2 9F. */
static bool is_quiet(const struct buf *b)
{
	for (size_t i = 0; i < b->len; i++) {
		unsigned char c = (unsigned char)b->at[i], next = (unsigned char)b->at[i + 1];

		if (c < 0x20 || c == 0x7f || (c == 0xC2 && next >= 0x80 && next <= 0x9F))
			return false;
	}
	return true;
}

static void check_display(const char *s, size_t n, size_t max_columns)
{
	struct buf out = { 0 };

	text_display(&out, s, n, max_columns);
	if (out.len) {
		FUZZ_CHECK(is_quiet(&out));
		FUZZ_CHECK(text_columns(out.at, out.len) <= max_columns);
		for (size_t at = 0, len; at < out.len; at += len)
			FUZZ_CHECK((len = text_utf8_len(out.at + at, out.len - at)) > 0);
	}
	buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data;

	check_json(s, size);
	check_display(s, size, SIZE_MAX);
	check_display(s, size, size ? data[0] % 40 : 0);
	return 0;
}
