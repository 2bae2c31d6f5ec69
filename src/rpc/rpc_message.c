/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_message.h"

#include <string.h>

#include "base/json_read.h"
#include "rpc/rpc_frame.h"

#define SHOWN_MAX 40 /* bytes of a number */

struct error_row {
	int code, number;
	const char *word;
};

static const struct error_row errors[] = {
#define X(code_, number_, word_) { .code = (code_), .number = (number_), .word = (word_) },
	RPC_MESSAGE_ERRORS(X)
#undef X
};

/* The last row is for every errno without a row of its own. */
static const struct error_row *find_error(int code)
{
	const struct error_row *row = errors;

	if (code == EPERM)
		code = EACCES;
	while (row < errors + ARRAY_LEN(errors) - 1 && row->code != code)
		row++;
	return row;
}

int rpc_message_error_errno(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		if (strcmp(errors[i].word, word) == 0)
			return errors[i].code;
	return EIO;
}

/* ---- parsing --------------------------------------------------------------------------------- */

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

int rpc_message_json_error(struct scan text, const json_error_t *why, struct err *err)
{
	enum json_error_code code = json_error_code(why);
	size_t at = offset_of(text, why);

	if (code == json_error_numeric_overflow)
		return too_large(text, at, err);
	if (code == json_error_duplicate_key)
		return err_set(err, ENOTUNIQ, "duplicate key in an object, near byte %zu", at);
	return err_set(err, EBADMSG, "%s, near byte %zu", describe(code), at);
}

/* The id of a request that was refused with -ERANGE or -EBADMSG, if the text is well formed and the
 * id is a string or a number; else NULL. The caller owns the reference. */
static json_t *find_refused_id(struct scan text)
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

static int load_line(struct scan line, json_t **ret, struct err *err)
{
	json_error_t error;
	json_t *root;
	int r = rpc_frame_check(line, err);

	if (r < 0)
		return r;
	root = json_loadb(line.p, scan_left(&line), JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
	                  &error);
	if (!root)
		return rpc_message_json_error(line, &error, err);
	*ret = root;
	return 0;
}

static bool is_id(const json_t *id)
{
	return json_is_string(id) || json_is_number(id) || json_is_null(id);
}

static int parse_params(struct rpc_message *m, struct err *err)
{
	json_t *params = json_object_get(m->root, "params");

	if (json_is_array(params) && json_array_size(params) > 0)
		return err_set(err, EINVAL, "params must be an object, not an array");
	if (params && !json_is_object(params) && !json_is_array(params) && !json_is_null(params))
		return err_set(err, EPROTO, "params must be an object");
	m->params = json_is_object(params) ? params : NULL;
	return 0;
}

static int parse_envelope(struct rpc_message *m, struct err *err)
{
	json_t *id = json_object_get(m->root, "id");
	const char *version = json_string_value(json_object_get(m->root, "jsonrpc"));
	const json_t *method = json_object_get(m->root, "method");

	if (id && !is_id(id))
		return err_set(err, EPROTO, "id must be a string, a number or null");
	m->id = id;
	if (!version || strcmp(version, "2.0") != 0)
		return err_set(err, EPROTO, "jsonrpc must be \"2.0\"");
	if (!json_is_string(method))
		return err_set(err, EPROTO, "method must be a string");
	if (json_string_length(method) > RPC_MESSAGE_METHOD_MAX)
		return err_set(err, EPROTO, "method is longer than %d bytes",
		               RPC_MESSAGE_METHOD_MAX);
	m->method = json_string_value(method);
	return parse_params(m, err);
}

/* The error names the call that was refused, if its id can be read. With duplicate keys there may be
 * two ids, so none is used. */
static int set_refused_id(struct rpc_message *m, struct scan line, int r)
{
	if (r == -EBADMSG || r == -ERANGE)
		m->root = m->id = find_refused_id(line);
	return r;
}

int rpc_message_parse(struct scan line, struct rpc_message *ret, struct err *err)
{
	int r;

	*ret = (struct rpc_message){ 0 };
	r = load_line(line, &ret->root, err);
	if (r < 0)
		return set_refused_id(ret, line, r);
	if (json_is_array(ret->root))
		return err_set(err, EPROTONOSUPPORT,
		               "batches are not supported: send one call per line");
	if (!json_is_object(ret->root))
		return err_set(err, EPROTO, "a request must be an object");
	return parse_envelope(ret, err);
}

void rpc_message_done(struct rpc_message *m)
{
	json_decref(m->root);
	*m = (struct rpc_message){ 0 };
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_object(struct json *j, const json_t *object)
{
	const char *key;
	json_t *value;

	json_begin_object(j);
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		json_key_text(j, key);
		rpc_message_put_value(j, value);
	}
	json_end_object(j);
}

static void put_array(struct json *j, const json_t *array)
{
	json_begin_array(j);
	for (size_t i = 0; i < json_array_size(array); i++)
		rpc_message_put_value(j, json_array_get(array, i));
	json_end_array(j);
}

/* Not json_dumps(), which writes 0.1 as 0.10000000000000001. rpc_frame_check() has limited the
 * depth. */
void rpc_message_put_value(struct json *j, const json_t *value)
{
	if (!value) {
		json_nil(j);
		return;
	}
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		put_object(j, value);
		break;
	case JSON_ARRAY:
		put_array(j, value);
		break;
	case JSON_STRING:
		json_strn(j, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
		json_i64(j, json_integer_value(value));
		break;
	case JSON_REAL:
		json_exact(j, json_real_value(value));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		json_bool(j, json_is_true(value));
		break;
	case JSON_NULL:
		json_nil(j);
		break;
	}
}

static void put_id(struct json *j, const json_t *id)
{
	json_key(j, "id");
	rpc_message_put_value(j, id);
}

static void begin_line(struct json *j)
{
	j->need_comma = false; /* each line is a document of its own */
	json_begin_object(j);
	json_put_str(j, "jsonrpc", "2.0");
}

void rpc_message_end(struct json *j)
{
	json_end_object(j);
	buf_putc(j->out, '\n');
}

void rpc_message_begin_result(struct json *j, const json_t *id)
{
	begin_line(j);
	put_id(j, id);
	json_key(j, "result");
}

void rpc_message_begin_notification(struct json *j, const char *method)
{
	begin_line(j);
	json_put_str(j, "method", method);
	json_key(j, "params");
}

void rpc_message_put_error(struct json *j, const json_t *id, const struct err *err)
{
	const struct error_row *row = find_error(err->code);

	begin_line(j);
	put_id(j, id);
	json_open_object(j, "error");
	json_put_i64(j, "code", row->number);
	json_put_str(j, "message", err->msg);
	json_open_object(j, "data");
	json_put_str(j, "code", row->word);
	json_end_object(j);
	json_end_object(j);
	rpc_message_end(j);
}

void rpc_message_put_request(struct json *j, uint64_t id, const char *method, const char *params)
{
	begin_line(j);
	json_put_u64(j, "id", id);
	json_put_str(j, "method", method);
	if (params) {
		json_key(j, "params");
		json_raw(j, params, strlen(params));
	}
	rpc_message_end(j);
}
