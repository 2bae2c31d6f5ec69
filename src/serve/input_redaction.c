/* SPDX-License-Identifier: MIT */
#include "serve/input_redaction.h"

#include "model/redaction.h"

const char *input_redaction_text(const char *text, struct buf *to)
{
	buf_reset(to);
	redact_text(text, to);
	buf_putc(to, '\0');
	return to->at;
}

static bool is_number_of_secret(const char *key, const json_t *value)
{
	return json_is_number(value) && *key && redact_is_secret_name(scan_str(key));
}

static void hide_string(const char *key, json_t *value)
{
	cleanup(buf_done) struct buf safe = { 0 };

	redact_value(key, json_string_value(value), &safe);
	json_string_setn(value, safe.at ? safe.at : "", safe.len);
}

static void hide_elements(const char *key, json_t *array);

/* Returns a new reference to the value that replaces it. */
static json_t *hide_value(const char *key, json_t *value)
{
	if (is_number_of_secret(key, value))
		return json_string("***");
	if (json_is_object(value))
		input_redaction_members(value);
	else if (json_is_array(value))
		hide_elements(key, value);
	else if (json_is_string(value))
		hide_string(key, value);
	return json_incref(value);
}

static void hide_elements(const char *key, json_t *array)
{
	for (size_t i = 0; i < json_array_size(array); i++)
		json_array_set_new(array, i, hide_value(key, json_array_get(array, i)));
}

void input_redaction_members(json_t *object)
{
	for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at))
		json_object_iter_set_new(
			object, at,
			hide_value(json_object_iter_key(at), json_object_iter_value(at)));
}
