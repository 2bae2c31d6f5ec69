/* SPDX-License-Identifier: MIT */
#include "rpc/json_error.h"

#include <errno.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"

#define SHOWN_MAX 40 /* bytes of a number */

/* The parser stops after the text that it rejects. */
static size_t offset_of(struct scan text, const json_error_t *why)
{
	return why->position > 0 ? MIN((size_t)why->position, scan_left(&text)) : 0;
}

static struct scan number_before(struct scan text, size_t at)
{
	struct scan number = { text.p + at, text.p + at };

	while (number.p > text.p && memchr("+-.0123456789Ee", number.p[-1], 15))
		number.p--;
	return number;
}

static int too_large(struct scan text, size_t at, struct err *err)
{
	struct scan number = number_before(text, at);
	size_t n = scan_left(&number);

	return err_set(err, ERANGE,
	               "the number %.*s%s is out of range: integers go from -2^63 to 2^63-1",
	               (int)MIN(n, SHOWN_MAX), number.p, n > SHOWN_MAX ? "…" : "");
}

static const char *describe(enum json_error_code code)
{
	static const struct {
		enum json_error_code code;
		const char *text;
	} known[] = {
		{ json_error_invalid_utf8, "invalid JSON: not UTF-8" },
		{ json_error_premature_end_of_input, "invalid JSON: incomplete" },
		{ json_error_end_of_input_expected, "invalid JSON: text after its end" },
		{ json_error_null_character, "\\u0000 is not allowed in a string" },
		{ json_error_null_byte_in_key, "\\u0000 is not allowed in a key" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].code == code)
			return known[i].text;
	return "invalid JSON";
}

int json_error_set(struct scan text, const json_error_t *why, struct err *err)
{
	enum json_error_code code = json_error_code(why);
	size_t at = offset_of(text, why);

	if (code == json_error_numeric_overflow)
		return too_large(text, at, err);
	if (code == json_error_duplicate_key)
		return err_set(err, ENOTUNIQ, "duplicate key in an object, near byte %zu", at);
	return err_set(err, EBADMSG, "%s, near byte %zu", describe(code), at);
}

json_t *json_error_id(struct scan text)
{
	struct scan value;
	json_t *id;

	if (!json_read_is_object(text) || !json_read_find(text, "id", &value))
		return NULL;
	id = json_loadb(value.p, scan_left(&value), JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	if (json_is_string(id) || json_is_number(id))
		return id;
	json_decref(id);
	return NULL;
}
