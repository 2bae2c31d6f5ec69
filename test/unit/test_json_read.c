/* SPDX-License-Identifier: MIT */
#include "base/json_read.h"

#include <string.h>

#include "base/json.h"
#include "check.h"

static void test_json_read_is_object__accepts_objects(void **state)
{
	static const char *const good[] = {
		"{}",
		" { } ",
		"{\"a\":1}",
		"{\"a\":-0.5e+10,\"b\":[1,2,[]],\"c\":{\"d\":null},\"e\":true,\"f\":false}",
		"{\r\n\t\"a\" : \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9é\" }",
	};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!json_read_is_object(scan_str(good[i])))
			fail_msg("%s", good[i]);
}

static void test_json_read_is_object__refuses_everything_else(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"1",
		"null",
		"{",
		"}",
		"{}{}",
		"{} x",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{a:1}",
		"{'a':1}",
		"{\"a\":01}",
		"{\"a\":1.}",
		"{\"a\":.5}",
		"{\"a\":1e}",
		"{\"a\":+1}",
		"{\"a\":-}",
		"{\"a\":nul}",
		"{\"a\":\"}",
		"{\"a\\\":1}",
		"{\"a\":[1,]}",
		"{\"a\":[1 2]}",
		"{\"\\x\":1}",
		"{\"\\u12g4\":1}",
		"{\"\\u12",
		"{\"a\":\"\n\"}",
		"{\"\xff\":1}",
		"{\"\x01\":1}",
		"{\"a\":NaN}",
		"{\"a\":1 \"b\":2}",
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (json_read_is_object(scan_str(bad[i])))
			fail_msg("%s", bad[i]);
}

static void test_json_read_is_object__has_a_limit_for_depth(void **state)
{
	char text[400], *at;

	for (int depth = 30; depth < 100; depth++) {
		at = text;
		for (int i = 0; i < depth; i++, at += 5)
			memcpy(at, "{\"a\":", 5);
		at -= 5;
		at[0] = '{', at[1] = '}';
		at += 2;
		memset(at, '}', (size_t)depth - 1);
		at += depth - 1;
		if (at > text + sizeof text - 20)
			break;
		assert_int_equal(json_read_is_object(scan_mem(text, (size_t)(at - text))),
		                 depth <= JSON_READ_DEPTH_MAX);
	}
}

static void test_json_read_find__finds_members_at_the_top_only(void **state)
{
	struct scan object = scan_str(
		"{\"x\":{\"a\":1},\"s\":\"\\\"a\\\":2\", \"a\" : [3,4] ,\"a\":5}");
	struct scan value;

	assert_true(json_read_find(object, "a", &value));
	assert_true(scan_eq(&value, "[3,4]"));
	assert_true(json_read_find(object, "x", &value));
	assert_true(scan_eq(&value, "{\"a\":1}"));
	assert_false(json_read_find(object, "b", &value));
	assert_false(json_read_find(scan_str("{}"), "a", &value));
	assert_false(json_read_find(scan_str("[1]"), "a", &value));
	assert_false(json_read_find(scan_str(""), "a", &value));
}

static void test_json_read_milli__reads_numbers_in_quotes_too(void **state)
{
	uint64_t milli = 7;

	assert_true(json_read_milli(scan_str("1234.5"), &milli));
	assert_int_equal(milli, 1234500);
	assert_true(json_read_milli(scan_str("\"0.25\""), &milli));
	assert_int_equal(milli, 250);
	assert_false(json_read_milli(scan_str("-1"), &milli));
	assert_false(json_read_milli(scan_str("1e3"), &milli));
	assert_false(json_read_milli(scan_str("\"1"), &milli));
	assert_false(json_read_milli(scan_str("\"\""), &milli));
	assert_false(json_read_milli(scan_str("99999999999999999999"), &milli));
	assert_false(json_read_milli(scan_str(""), &milli));
	assert_int_equal(milli, 250);
}

static void test_json_read_text__decodes_escapes(void **state)
{
	cleanup(buf_done) struct buf text = { .max = 16 };

	assert_true(json_read_text(scan_str("q\\\"b\\\\s\\/n\\n"), &text));
	assert_string_equal(text.at, "q\"b\\s/n\n");
	assert_true(json_read_text(scan_str("ä\\u001b"), &text));
	assert_string_equal(text.at, "ä\x1b");
	assert_true(json_read_text(scan_str("\\u009b\\u202E"), &text));
	assert_string_equal(text.at, "\xc2\x9b\xe2\x80\xae");
	assert_true(json_read_text(scan_str("\\ud83d\\ude00\\uDB40\\uDC41"), &text));
	assert_string_equal(text.at, "\xf0\x9f\x98\x80\xf3\xa0\x81\x81");
	assert_false(json_read_text(scan_str("\\ud83d"), &text));
	assert_false(json_read_text(scan_str("\\ud83d\\u0041"), &text));
	assert_false(json_read_text(scan_str("\\ude00\\ud83d"), &text));
	assert_false(json_read_text(scan_str("\\u20zz"), &text));
	assert_false(json_read_text(scan_str("longer than sixteen bytes"), &text));
	assert_true(json_read_text(scan_str(""), &text));
	assert_int_equal(text.len, 0);
}

static size_t encode(uint32_t c, char to[static 5])
{
	size_t n = 0;

	if (c < 0x80) {
		to[n++] = (char)c;
	} else if (c < 0x800) {
		to[n++] = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		to[n++] = (char)(0xe0 | c >> 12);
		to[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		to[n++] = (char)(0xf0 | c >> 18);
		to[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		to[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	}
	if (c >= 0x80)
		to[n++] = (char)(0x80 | (c & 0x3f));
	to[n] = '\0';
	return n;
}

static void test_json_read_text__reads_every_character_that_the_writer_escapes(void **state)
{
	struct buf written = { 0 }, text = { .max = 16 };

	for (uint32_t c = 1; c <= 0x10ffff; c++) {
		struct json j = { .out = &written };
		char utf8[5];
		size_t n;

		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		n = encode(c, utf8);
		buf_reset(&written);
		json_strn(&j, utf8, n);
		if (!json_read_text(scan_mem(written.at + 1, written.len - 2), &text) ||
		    text.len != n || memcmp(text.at, utf8, n) != 0)
			fail_msg("U+%04X: %s", (unsigned)c, written.at);
	}
	buf_done(&written);
	buf_done(&text);
}

RUN_TESTS(TEST(test_json_read_is_object__accepts_objects),
          TEST(test_json_read_is_object__refuses_everything_else),
          TEST(test_json_read_is_object__has_a_limit_for_depth),
          TEST(test_json_read_find__finds_members_at_the_top_only),
          TEST(test_json_read_milli__reads_numbers_in_quotes_too),
          TEST(test_json_read_text__decodes_escapes),
          TEST(test_json_read_text__reads_every_character_that_the_writer_escapes))
