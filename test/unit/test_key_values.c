/* SPDX-License-Identifier: MIT */
#include "rpc/key_values.h"

#include <errno.h>
#include <stdio.h>

#include "check.h"

static void assert_value(const char *text, const char *want)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };
	char word[128], object[128];
	char *words[] = { word };
	struct err err;

	snprintf(word, sizeof word, "k=%s", text);
	snprintf(object, sizeof object, "{\"k\":%s}", want);
	assert_int_equal(key_values_put(&j, words, 1, &err), 0);
	assert_string_equal(out.at, object);
	buf_done(&out);
}

static void test_key_values_value__keeps_numbers_true_and_false(void **state)
{
	static const char *const same[] = { "0",
		                            "-0",
		                            "7",
		                            "-12",
		                            "1.50",
		                            "1e3",
		                            "2E-3",
		                            "0.5e+2",
		                            "true",
		                            "false",
		                            "-0.25",
		                            "9223372036854775807",
		                            "-9223372036854775808" };

	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		assert_value(same[i], same[i]);
}

static void test_key_values_value__keeps_everything_else_as_text(void **state)
{
	static const char *const texts[] = { "",
		                             "null",
		                             "True",
		                             "007",
		                             "1.",
		                             "-",
		                             ".5",
		                             "+1",
		                             "1e",
		                             "0x1",
		                             "1e999",
		                             " 1",
		                             "1 ",
		                             "NaN",
		                             "1,5",
		                             "--1",
		                             "9223372036854775808",
		                             "1e+",
		                             "inf" };
	char want[64];

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		snprintf(want, sizeof want, "\"%s\"", texts[i]);
		assert_value(texts[i], want);
	}
}

static int put(char *const *words, size_t n, struct buf *out, struct err *err)
{
	struct json j = { .out = out };

	return key_values_put(&j, words, n, err);
}

static void test_key_values_put__writes_one_object(void **state)
{
	char *words[] = { (char[]){ "a=1" }, (char[]){ "b=x=\"y\"" }, (char[]){ "ab=" } };
	struct buf out = { 0 };
	struct err err;

	assert_int_equal(put(words, 0, &out, &err), 0);
	assert_string_equal(out.at, "{}");
	buf_reset(&out);
	assert_int_equal(put(words, 3, &out, &err), 0);
	assert_string_equal(out.at, "{\"a\":1,\"b\":\"x=\\\"y\\\"\",\"ab\":\"\"}");
	buf_done(&out);
}

static void test_key_values_put__refuses_a_word_that_is_none_and_a_key_given_twice(void **state)
{
	char *none[] = { (char[]){ "a=1" }, (char[]){ "b" } };
	char *empty[] = { (char[]){ "=1" } };
	char *twice[] = { (char[]){ "a=1" }, (char[]){ "ab=1" }, (char[]){ "a=2" } };
	struct buf out = { 0 };
	struct err err = { 0 };

	assert_int_equal(put(none, 2, &out, &err), -EINVAL);
	assert_string_equal(err.msg, "'b' is not KEY=VALUE");
	assert_int_equal(put(empty, 1, &out, &err), -EINVAL);
	assert_int_equal(put(twice, 3, &out, &err), -EINVAL);
	assert_string_equal(err.msg, "'a' is given twice");
	buf_done(&out);
}

RUN_TESTS(TEST(test_key_values_value__keeps_numbers_true_and_false),
          TEST(test_key_values_value__keeps_everything_else_as_text),
          TEST(test_key_values_put__writes_one_object),
          TEST(test_key_values_put__refuses_a_word_that_is_none_and_a_key_given_twice))
