/* SPDX-License-Identifier: MIT */
#include "model/job.h"

#include "check.h"

/* All tags as key=value;… */
static struct buf read_all(const char *text)
{
	struct scan at = scan_str(text);
	struct buf key = { 0 }, value = { 0 }, all = { 0 };

	buf_puts(&all, "");
	while (job_tags_next(&at, &key, &value))
		buf_printf(&all, "%s=%s;", key.at ? key.at : "", value.at ? value.at : "");
	buf_done(&key);
	buf_done(&value);
	return all;
}

static void assert_tags(const char *text, const char *expected)
{
	struct buf all = read_all(text);

	assert_string_equal(all.at ? all.at : "", expected);
	buf_done(&all);
}

static void test_tags__are_read_one_by_one(void **state)
{
	assert_tags("{\"team\":\"vision\", \"run\" : \"7\"}", "team=vision;run=7;");
	assert_tags("{}", "");
	assert_tags("", "");
	assert_tags("{\"a\":\"\"}", "a=;");
}

static void test_tags__are_decoded(void **state)
{
	assert_tags("{\"a\":\"q\\\"b\\\\s\\/n\\nt\\t\"}", "a=q\"b\\s/n\nt\t;");
	assert_tags("{\"a\":\"\\u001b\"}", "a=\x1b;");
	assert_tags("{\"ä\":\"ö\"}", "ä=ö;");
}

static void test_tags__end_where_the_text_is_malformed(void **state)
{
	assert_tags("{\"a\":\"1\",\"b\":2}", "a=1;");
	assert_tags("{\"a\":\"1\",\"b\":\"2", "a=1;");
	assert_tags("{\"a\":\"\\u00g0\"}", "");
	assert_tags("{\"a\":\"\\x\"}", "");
	assert_tags("[\"a\"]", "");
}

RUN_TESTS(TEST(test_tags__are_read_one_by_one), TEST(test_tags__are_decoded),
          TEST(test_tags__end_where_the_text_is_malformed))
