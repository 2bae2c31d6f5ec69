/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <math.h>

#include "check.h"

static void assert_json(struct buf *out, const char *expected)
{
	assert_string_equal(out->at, expected);
	buf_done(out);
}

static void test_json__puts_commas_between_members_and_elements(void **state)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	(void)state;
	json_begin_object(&j);
	json_key(&j, "a");
	json_begin_array(&j);
	json_u64(&j, 1);
	json_i64(&j, -2);
	json_nil(&j);
	json_end_array(&j);
	json_key(&j, "b");
	json_bool(&j, true);
	json_end_object(&j);
	assert_json(&out, "{\"a\":[1,-2,null],\"b\":true}");
}

static void test_json_strn__escapes_controls_and_replaces_invalid_utf8(void **state)
{
	static const char text[] = "q\" b\\ n\n e\x1b \xff\xc3\xa9\xed\xa0\x80";
	struct buf out = { 0 };
	struct json j = { .out = &out };

	(void)state;
	json_strn(&j, text, sizeof text - 1);
	assert_json(
		&out,
		"\"q\\\" b\\\\ n\\n e\\u001b \xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

#define TRICKS "\xc2\x9b \xe2\x80\xae \xf3\xa0\x80\x81 \x7f \xc3\xa9"
#define TRICKS_ESCAPED "\\u009b \\u202e \\udb40\\udc01 \\u007f \xc3\xa9"

static void test_json__escapes_what_a_terminal_would_obey(void **state)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	(void)state;
	json_begin_array(&j);
	json_str(&j, TRICKS);
	json_raw_escaped(&j, "{\"" TRICKS "\":1}", strlen("{\"" TRICKS "\":1}"));
	json_end_array(&j);
	assert_json(&out, "[\"" TRICKS_ESCAPED "\",{\"" TRICKS_ESCAPED "\":1}]");
}

static void test_json_double__keeps_decimals_and_writes_null_for_nan(void **state)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	(void)state;
	json_begin_array(&j);
	json_double(&j, 1.005, 2);
	json_double(&j, -0.001, 2);
	json_double(&j, 99.999, 2);
	json_double(&j, 12.5, 3);
	json_double(&j, (double)NAN, 2);
	json_double(&j, 1e300, 2);
	json_end_array(&j);
	assert_json(&out, "[1.0,0.0,100.0,12.5,null,null]");
}

static void test_json_put__writes_key_and_value(void **state)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	json_begin_object(&j);
	json_put_str(&j, "s", "x");
	json_put_str(&j, "none", NULL);
	json_put_text(&j, "empty", "");
	json_put_any_str(&j, "left_out", "");
	json_put_any_u64(&j, "left_out", 0);
	json_put_any_u64(&j, "n", 7);
	json_open_array(&j, "a");
	json_end_array(&j);
	json_open_object(&j, "o");
	json_put_bool(&j, "b", true);
	json_end_object(&j);
	json_end_object(&j);
	assert_json(
		&out,
		"{\"s\":\"x\",\"none\":null,\"empty\":null,\"n\":7,\"a\":[],\"o\":{\"b\":true}}");
}

static void test_json_fixed__places_the_decimal_point(void **state)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	(void)state;
	json_begin_array(&j);
	json_fixed(&j, 0, 3);
	json_fixed(&j, 7, 3);
	json_fixed(&j, 1250, 3);
	json_fixed(&j, UINT64_MAX, 6);
	json_u64(&j, UINT64_MAX);
	json_i64(&j, INT64_MIN);
	json_end_array(&j);
	assert_json(
		&out,
		"[0.0,0.007,1.25,18446744073709.551615,18446744073709551615,-9223372036854775808]");
}

static void test_json_exact__reads_back_the_same(void **state)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	(void)state;
	json_begin_array(&j);
	json_exact(&j, 0.1);
	json_exact(&j, 2);
	json_exact(&j, 1794751401.123456);
	json_exact(&j, 1.0 / 3);
	json_exact(&j, -1e300);
	json_exact(&j, (double)INFINITY);
	json_end_array(&j);
	assert_json(&out, "[0.1,2.0,1794751401.123456,0.3333333333333333,-1e+300,null]");
}

static void test_json_key_text__escapes_names_from_outside(void **state)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	(void)state;
	json_begin_object(&j);
	json_key_text(&j, "a\"b\n");
	json_u64(&j, 1);
	json_key_text(&j, "\xff");
	json_nil(&j);
	json_end_object(&j);
	assert_json(&out, "{\"a\\\"b\\n\":1,\"\xef\xbf\xbd\":null}");
}

static void test_json_omit_nulls__removes_members_but_no_elements(void **state)
{
	static const char *const texts[][2] = {
		{ "{\"a\":null}", "{}" },
		{ "{\"a\":null,\"b\":1}", "{\"b\":1}" },
		{ "{\"b\":1,\"a\":null}", "{\"b\":1}" },
		{ "{\"a\":null,\"b\":null}", "{}" },
		{ "{\"a\":{\"x\":null},\"b\":[null,{\"y\":null,\"z\":[]}]}",
		  "{\"a\":{},\"b\":[null,{\"z\":[]}]}" },
		{ "{\"a\":\":null,\",\"b\\\":null\":2}", "{\"a\":\":null,\",\"b\\\":null\":2}" },
		{ "null", "null" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct buf text = { 0 };

		buf_puts(&text, "x:null,");
		buf_puts(&text, texts[i][0]);
		json_omit_nulls(&text, 7);
		assert_string_equal(text.at + 7, texts[i][1]);
		buf_done(&text);
	}
}

RUN_TESTS(TEST(test_json__puts_commas_between_members_and_elements),
          TEST(test_json_strn__escapes_controls_and_replaces_invalid_utf8),
          TEST(test_json_double__keeps_decimals_and_writes_null_for_nan),
          TEST(test_json_put__writes_key_and_value),
          TEST(test_json_fixed__places_the_decimal_point),
          TEST(test_json_exact__reads_back_the_same),
          TEST(test_json__escapes_what_a_terminal_would_obey),
          TEST(test_json_key_text__escapes_names_from_outside),
          TEST(test_json_omit_nulls__removes_members_but_no_elements))
