/* SPDX-License-Identifier: MIT */
#include "serve/input_redaction.h"

#include "base/mem.h"
#include "model/redact.h"
#include "rpc/rpc_params.h"

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

static void redact_members(json_t *object);

/* Returns a new reference to the value that replaces it. */
static json_t *replace_value(const char *key, json_t *value)
{
	if (is_secret_number(key, value))
		return json_string("***");
	if (json_is_object(value))
		redact_members(value);
	for (size_t i = 0; i < json_array_size(value); i++) /* 0 unless it is an array */
		json_array_set_new(value, i, replace_value(key, json_array_get(value, i)));
	if (json_is_string(value))
		redact_string(key, value);
	return json_incref(value);
}

static void redact_members(json_t *object)
{
	for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at))
		json_object_iter_set_new(
			object, at,
			replace_value(json_object_iter_key(at), json_object_iter_value(at)));
}

/* Its length is checked first, so that what is refused costs nothing more. */
int input_redaction_object(const json_t *params, const char *name, size_t max, char **ret,
                           struct err *err)
{
	cleanup(freep) char *text = NULL;
	json_t *safe;
	int r;

	if (rpc_params_object_text(params, name, max, &text, err) < 0)
		return -err->code;
	if (!text)
		return 0;
	safe = json_pack("{s:o}", name, json_deep_copy(json_object_get(params, name)));
	redact_members(json_object_get(safe, name));
	r = rpc_params_object_text(safe, name, max, ret, err);
	json_decref(safe);
	return r;
}
