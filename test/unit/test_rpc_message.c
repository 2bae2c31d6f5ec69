/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_message.h"

#include "base/buf.h"
#include "check.h"

/* What a client sees when it sends this line: number and word of the error, and the id as text. */
static void assert_refused(const char *line, int number, const char *word, const char *id)
{
	struct rpc_message m;
	struct err err = { 0 };
	struct buf out = { 0 };
	struct json j = { .out = &out };
	char head[128], tail[128];

	assert_true(rpc_message_parse(scan_str(line), &m, &err) < 0);
	rpc_message_put_error(&j, m.id, &err);
	snprintf(head, sizeof head, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,", id,
	         number);
	snprintf(tail, sizeof tail, "\"data\":{\"code\":\"%s\"}}}\n", word);
	assert_memory_equal(out.at, head, strlen(head));
	assert_string_equal(out.at + out.len - strlen(tail), tail);
	rpc_message_done(&m);
	buf_done(&out);
}

static void test_rpc_message_parse__reads_a_request(void **state)
{
	struct rpc_message m;
	struct err err;

	assert_int_equal(
		rpc_message_parse(
			scan_str("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"daemon.events\","
	                         "\"params\":{\"limit\":3},\"more\":true}"),
			&m, &err),
		0);
	assert_string_equal(m.method, "daemon.events");
	assert_int_equal(json_integer_value(m.id), 7);
	assert_int_equal(json_integer_value(json_object_get(m.params, "limit")), 3);
	rpc_message_done(&m);
}

static void test_rpc_message_parse__treats_null_as_no_params(void **state)
{
	struct rpc_message m;
	struct err err;

	(void)state;
	assert_int_equal(
		rpc_message_parse(scan_str("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\","
	                                   "\"params\":null}"),
	                          &m, &err),
		0);
	assert_null(m.params);
	rpc_message_done(&m);
}

static void test_rpc_message_parse__treats_an_empty_array_as_no_params(void **state)
{
	struct rpc_message m;
	struct err err;

	assert_int_equal(
		rpc_message_parse(scan_str("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"), &m, &err), 0);
	assert_null(m.params);
	assert_null(m.id);
	rpc_message_done(&m);
	assert_int_equal(
		rpc_message_parse(scan_str("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[]}"),
	                          &m, &err),
		0);
	assert_null(m.params);
	rpc_message_done(&m);
}

static void test_rpc_message_parse__refuses_what_is_not_json(void **state)
{
	static const char *const lines[] = {
		"{",       "hello",      "{\"a\":1}x", "{\"a\":\"\xff\"}", "{\"a\":\"\\u0000\"}",
		"{'a':1}", "{\"a\":NaN}"
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_refused(lines[i], -32700, "parse_error", "null");
	assert_refused("{\"id\":1,\"id\":2}", -32700, "duplicate_key", "null");
}

static void assert_message(const char *line, const char *words)
{
	struct rpc_message m;
	struct err err = { 0 };

	assert_true(rpc_message_parse(scan_str(line), &m, &err) < 0);
	assert_string_equal(err.msg, words);
	rpc_message_done(&m);
}

static void test_rpc_message_parse__explains_what_is_not_json(void **state)
{
	assert_message("{\"id\":1,", "invalid JSON: incomplete, near byte 8");
	assert_message("hello", "invalid JSON, near byte 5");
	assert_message("{\"a\":\"\xff\"}", "invalid JSON: not UTF-8, near byte 6");
	assert_message("{} x", "invalid JSON: text after its end, near byte 4");
	assert_message("{\"a\":\"\\u0000\"}", "\\u0000 is not allowed in a string, near byte 13");
	assert_message("{\"\\u0000\":1}", "\\u0000 is not allowed in a key, near byte 9");
	assert_message("{\"a\":1,\"a\":2}", "duplicate key in an object, near byte 10");
}

static void test_rpc_message_parse__names_a_number_that_is_too_large_and_keeps_the_id(void **state)
{
	static const char too_large[] = "number_too_large";

	assert_refused("{\"a\":9223372036854775808,\"id\":7}", -32700, too_large, "7");
	assert_refused("{\"id\":\"x\",\"a\":[{\"id\":-9223372036854775809}]}", -32700, too_large,
	               "\"x\"");
	assert_refused("{\"id\":18446744073709551615}", -32700, too_large, "null");
	assert_refused("{\"id\":1,\"a\":1e999}", -32700, too_large, "1");
	assert_refused("{\"id\":1,\"a\":1e999", -32700, too_large, "null"); /* and then it ends */
	assert_refused("{\"id\":{},\"a\":1e999}", -32700, too_large, "null");
	assert_refused("{\"id\":1,\"a\":\"\\u0000\"}", -32700, "parse_error", "1");
	assert_message(
		"{\"id\":1,\"a\":-9223372036854775809}",
		"the number -9223372036854775809 is out of range: integers go from -2^63 to 2^63-1");
	assert_message(
		"1234567890123456789012345678901234567890123",
		"the number 1234567890123456789012345678901234567890… is out of range: integers go "
		"from -2^63 to 2^63-1");
}

static void test_rpc_message_parse__refuses_json_that_is_not_a_request(void **state)
{
	static const char *const lines[] = {
		"3",
		"\"x\"",
		"{\"id\":1}",
		"{\"id\":1,\"jsonrpc\":\"1.0\",\"method\":\"x\"}",
		"{\"id\":1,\"jsonrpc\":2.0,\"method\":\"x\"}",
		"{\"id\":1,\"jsonrpc\":\"2.0\"}",
		"{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":7}",
		"{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":7}",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_refused(lines[i], -32600, "invalid_request", i < 2 ? "null" : "1");
	assert_refused("{\"id\":{},\"jsonrpc\":\"2.0\",\"method\":\"x\"}", -32600,
	               "invalid_request", "null");
}

static void test_rpc_message_parse__refuses_batches_depth_and_positional_params(void **state)
{
	char deep[200];

	memset(deep, '[', sizeof deep - 1);
	deep[sizeof deep - 1] = '\0';
	assert_refused("[]", -32600, "batch_refused", "null");
	assert_refused("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]", -32600, "batch_refused",
	               "null");
	assert_refused(deep, -32600, "too_deep", "null");
	assert_refused("{\"id\":\"a\",\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[1]}", -32602,
	               "invalid_params", "\"a\"");
}

static void test_rpc_message_put__returns_the_id_unchanged(void **state)
{
	static const char *const ids[] = { "1", "-3", "\"a\\\"b\"", "1.5", "null" };

	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		struct buf out = { 0 };
		struct json j = { .out = &out };
		json_t *id = json_loads(ids[i], JSON_DECODE_ANY, NULL);
		char want[128];

		rpc_message_begin_result(&j, id);
		json_bool(&j, true);
		rpc_message_end(&j);
		snprintf(want, sizeof want, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":true}\n",
		         ids[i]);
		assert_string_equal(out.at, want);
		json_decref(id);
		buf_done(&out);
	}
}

static void assert_word(int code, const char *word)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };
	const struct err err = { .code = code };
	char data[64];

	snprintf(data, sizeof data, "\"data\":{\"code\":\"%s\"}", word);
	rpc_message_put_error(&j, NULL, &err);
	assert_non_null(strstr(out.at, data));
	buf_done(&out);
}

static void test_rpc_message_errors__have_a_word_that_maps_back_to_the_errno(void **state)
{
	assert_word(EPERM, "permission_denied");
	assert_word(EXDEV, "internal_error");
#define X(code, number, word)                                                                      \
	assert_word(code, word);                                                                   \
	assert_int_equal(rpc_message_error_errno(word), code);
	RPC_MESSAGE_ERRORS(X)
#undef X
	assert_int_equal(rpc_message_error_errno("something new"), EIO);
}

RUN_TESTS(TEST(test_rpc_message_parse__reads_a_request),
          TEST(test_rpc_message_parse__treats_null_as_no_params),
          TEST(test_rpc_message_parse__treats_an_empty_array_as_no_params),
          TEST(test_rpc_message_parse__refuses_what_is_not_json),
          TEST(test_rpc_message_parse__explains_what_is_not_json),
          TEST(test_rpc_message_parse__names_a_number_that_is_too_large_and_keeps_the_id),
          TEST(test_rpc_message_parse__refuses_json_that_is_not_a_request),
          TEST(test_rpc_message_parse__refuses_batches_depth_and_positional_params),
          TEST(test_rpc_message_put__returns_the_id_unchanged),
          TEST(test_rpc_message_errors__have_a_word_that_maps_back_to_the_errno))
