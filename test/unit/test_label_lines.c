/* SPDX-License-Identifier: MIT */
#include "view/label_lines.h"

#include "check.h"

static void assert_lines(size_t width, const char *expected)
{
	struct label_lines f = { .indent = 2, .label_columns = 6 };
	const struct style style = { .width = width };
	struct buf out = { 0 };

	label_lines_begin_head(&f, "head", "right");
	label_lines_part(&f, "part");
	label_lines_begin(&f, "cpu", "exact");
	label_lines_part(&f, "%d seconds", 10);
	label_lines_comma(&f, "of which %s were long", "many");
	label_lines_join(&f, LABEL_WORD, "(too)");
	label_lines_begin(&f, "more", "");
	label_lines_join(&f, LABEL_WHOLE, "a command that must not be cut");
	label_lines_print(&f, CANVAS(&style, &out));
	assert_string_equal(out.at, expected);
	buf_done(&out);
	label_lines_done(&f);
}

static void test_label_lines__have_their_quality_at_the_right(void **state)
{
	assert_lines(SIZE_MAX, "head  part                                           right\n"
	                       "  cpu   10 seconds, of which many were long (too)    exact\n"
	                       "  more  a command that must not be cut\n");
}

static void test_label_lines__break_between_parts_only(void **state)
{
	assert_lines(32, "head  part   right\n"
	                 "  cpu   10 seconds,\n"
	                 "        of which many were long\n"
	                 "        (too)   exact\n"
	                 "  more  a command that must not be cut\n");
	assert_lines(20, "head  part   right\n"
	                 "  cpu   10 seconds,\n"
	                 "        of which ma…\n"
	                 "        (too)\n"
	                 "        exact\n"
	                 "  more  a command that must not be cut\n");
}

static void test_label_lines__make_text_safe(void **state)
{
	struct label_lines f = { 0 };
	struct buf out = { 0 };

	label_lines_begin(&f, "a\nb", "\x1b[31m");
	label_lines_part(&f, "%s", "\x9b");
	label_lines_print(&f, CANVAS((&(struct style){ .width = 80 }), &out));
	assert_string_equal(out.at, "a\\nb \\x9b    \\x1b[31m\n");
	buf_done(&out);
	label_lines_done(&f);
}

RUN_TESTS(TEST(test_label_lines__have_their_quality_at_the_right),
          TEST(test_label_lines__break_between_parts_only), TEST(test_label_lines__make_text_safe))
