/* SPDX-License-Identifier: MIT */
#include "view/facts.h"

#include "check.h"

static void assert_facts(size_t width, const char *expected)
{
	struct facts f = { .indent = 2, .label_columns = 6 };
	const struct style style = { .width = width };
	struct buf out = { 0 };

	facts_begin_head(&f, "head", "right");
	facts_part(&f, "part");
	facts_begin(&f, "cpu", "exact");
	facts_part(&f, "%d seconds", 10);
	facts_comma(&f, "of which %s were long", "many");
	facts_join(&f, FACT_WORD, "(too)");
	facts_begin(&f, "more", "");
	facts_join(&f, FACT_WHOLE, "a command that must not be cut");
	facts_print(&f, CANVAS(&style, &out));
	assert_string_equal(out.at, expected);
	buf_done(&out);
	facts_done(&f);
}

static void test_facts__have_their_quality_at_the_right(void **state)
{
	assert_facts(SIZE_MAX, "head  part                                           right\n"
	                       "  cpu   10 seconds, of which many were long (too)    exact\n"
	                       "  more  a command that must not be cut\n");
}

static void test_facts__break_between_parts_only(void **state)
{
	assert_facts(32, "head  part   right\n"
	                 "  cpu   10 seconds,\n"
	                 "        of which many were long\n"
	                 "        (too)   exact\n"
	                 "  more  a command that must not be cut\n");
	assert_facts(20, "head  part   right\n"
	                 "  cpu   10 seconds,\n"
	                 "        of which ma…\n"
	                 "        (too)\n"
	                 "        exact\n"
	                 "  more  a command that must not be cut\n");
}

static void test_facts__make_text_safe(void **state)
{
	struct facts f = { 0 };
	struct buf out = { 0 };

	facts_begin(&f, "a\nb", "\x1b[31m");
	facts_part(&f, "%s", "\x9b");
	facts_print(&f, CANVAS((&(struct style){ .width = 80 }), &out));
	assert_string_equal(out.at, "a\\nb \\x9b    \\x1b[31m\n");
	buf_done(&out);
	facts_done(&f);
}

RUN_TESTS(TEST(test_facts__have_their_quality_at_the_right),
          TEST(test_facts__break_between_parts_only), TEST(test_facts__make_text_safe))
