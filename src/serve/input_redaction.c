/* SPDX-License-Identifier: MIT */
#include "serve/input_redaction.h"

#include "base/mem.h"
#include "model/redaction.h"

const char *input_redaction_text(const char *text, struct buf *to)
{
	buf_reset(to);
	redact_text(text, to);
	buf_putc(to, '\0');
	return to->at;
}

static void redact_string(const char *key, json_t *string)
{
	cleanup(buf_done) struct buf safe = { 0 };

	redact_value(key, json_string_value(string), &safe);
	json_string_setn(string, safe.at ? safe.at : "", safe.len);
}

static bool is_secret_number(const char *key, const json_t *value)
{
	cleanup(freep) char *text = json_is_number(value) ? json_dumps(value, JSON_ENCODE_ANY)
	                                                  : NULL;

	return text && redact_hides(key, text);
}

/* Returns a new reference to the value that replaces it. */
static json_t *replace_value(const char *key, json_t *value)
{
	if (is_secret_number(key, value))
		return json_string("***");
	if (json_is_object(value))
		input_redaction_members(value);
	for (size_t i = 0; i < json_array_size(value); i++) /* 0 unless it is an array */
		json_array_set_new(value, i, replace_value(key, json_array_get(value, i)));
	if (json_is_string(value))
		redact_string(key, value);
	return json_incref(value);
}

void input_redaction_members(json_t *object)
{
	for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at))
		json_object_iter_set_new(
			object, at,
			replace_value(json_object_iter_key(at), json_object_iter_value(at)));
}
