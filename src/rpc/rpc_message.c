/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_message.h"

#include <string.h>

#include "rpc/rpc_frame.h"
#include "rpc/json_error.h"

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
		return json_error_set(line, &error, err);
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
	if (params && !json_is_object(params) && !json_is_array(params))
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
		m->root = m->id = json_error_id(line);
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

static void put_id(struct json *j, const json_t *id)
{
	json_key(j, "id");
	if (json_is_string(id))
		json_strn(j, json_string_value(id), json_string_length(id));
	else if (json_is_integer(id))
		json_i64(j, json_integer_value(id));
	else if (json_is_real(id))
		json_exact(j, json_real_value(id));
	else
		json_nil(j);
}

static void begin_line(struct json *j)
{
	j->need_comma = false; /* each line is a document of its own */
	json_begin_object(j);
	json_key(j, "jsonrpc");
	json_str(j, "2.0");
}

static void end_line(struct json *j)
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

void rpc_message_end_result(struct json *j)
{
	end_line(j);
}

void rpc_message_begin_notification(struct json *j, const char *method)
{
	begin_line(j);
	json_key(j, "method");
	json_str(j, method);
	json_key(j, "params");
}

void rpc_message_end_notification(struct json *j)
{
	end_line(j);
}

void rpc_message_put_error(struct json *j, const json_t *id, const struct err *err)
{
	const struct error_row *row = find_error(err->code);

	begin_line(j);
	put_id(j, id);
	json_key(j, "error");
	json_begin_object(j);
	json_key(j, "code");
	json_i64(j, row->number);
	json_key(j, "message");
	json_str(j, err->msg);
	json_key(j, "data");
	json_begin_object(j);
	json_key(j, "code");
	json_str(j, row->word);
	json_end_object(j);
	json_end_object(j);
	end_line(j);
}

void rpc_message_put_request(struct json *j, uint64_t id, const char *method, const char *params)
{
	begin_line(j);
	json_key(j, "id");
	json_u64(j, id);
	json_key(j, "method");
	json_str(j, method);
	if (params) {
		json_key(j, "params");
		json_raw(j, params, strlen(params));
	}
	end_line(j);
}
