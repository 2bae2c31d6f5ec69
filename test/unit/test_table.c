/* SPDX-License-Identifier: MIT */
#include "view/table.h"

#include "check.h"

static const struct table_column people[] = {
	{ "NAME", TABLE_LEFT },
	{ "AGE", TABLE_RIGHT },
	{ "NOTE", TABLE_LEFT, .drop = 1 },
	{ "WORDS", TABLE_LEFT, .min_width = 8 },
};

static void add_row(struct table *t, const char *a, const char *b, const char *c, const char *d)
{
	table_add(t, a, INK_PLAIN);
	table_add_figure(t, b, INK_PLAIN);
	table_add_figure(t, c, INK_PLAIN);
	table_add(t, d, INK_PLAIN);
}

static void assert_prints(const struct table *t, size_t width, const char *text)
{
	const struct style style = { .width = width };
	struct buf out = { 0 };

	table_print(t, CANVAS(&style, &out));
	assert_string_equal(out.at ? out.at : "", text);
	buf_done(&out);
}

static void test_table__aligns_columns_and_leaves_no_blanks_at_the_end(void **state)
{
	struct table t = { .columns = people, .n_columns = ARRAY_LEN(people) };

	add_row(&t, "ana", "7", "x", "one two three");
	add_row(&t, "bartholomew", "1,234", NULL, "");
	assert_prints(&t, SIZE_MAX,
	              "NAME           AGE  NOTE  WORDS\n"
	              "ana              7  x     one two three\n"
	              "bartholomew  1,234  -\n");
	table_done(&t);
}

static void test_table__narrows_gaps_then_leaves_out_columns_then_cuts(void **state)
{
	struct table t = { .columns = people, .n_columns = ARRAY_LEN(people) };

	add_row(&t, "ana", "7", "xxxx", "one two three");
	assert_prints(&t, 28,
	              "NAME  AGE  NOTE  WORDS\n"
	              "ana     7  xxxx  one two th…\n");
	assert_prints(&t, 24,
	              "NAME AGE NOTE WORDS\n"
	              "ana    7 xxxx one two t…\n");
	assert_prints(&t, 18,
	              "NAME AGE WORDS\n"
	              "ana    7 one two …\n");
	assert_prints(&t, 1,
	              "NAME AGE WORDS\n"
	              "ana    7 one two…\n");
	table_done(&t);
}

static void test_table__leaves_out_a_column_without_values(void **state)
{
	struct table t = { .columns = people, .n_columns = ARRAY_LEN(people) };

	add_row(&t, "ana", "7", NULL, "one");
	add_row(&t, "bob", NULL, "-", "two");
	assert_prints(&t, SIZE_MAX,
	              "NAME  AGE  WORDS\n"
	              "ana     7  one\n"
	              "bob     -  two\n");
	table_done(&t);
}

static void test_table__shows_its_head_without_rows(void **state)
{
	struct table t = { .columns = people, .n_columns = ARRAY_LEN(people) };

	assert_prints(&t, SIZE_MAX, "NAME  AGE  NOTE  WORDS\n");
	table_done(&t);
}

static void test_table__escapes_text_from_outside(void **state)
{
	struct table t = { .columns = people, .n_columns = ARRAY_LEN(people) };

	add_row(&t, "a\nb", "7", "\x1b[31m", "%n \xff \xc2\x9b");
	assert_prints(&t, SIZE_MAX,
	              "NAME  AGE  NOTE      WORDS\n"
	              "a\\nb    7  \\x1b[31m  %n \\xff \\u{9b}\n");
	table_done(&t);
}

static void test_table__counts_wide_characters_twice(void **state)
{
	struct table t = { .columns = people, .n_columns = ARRAY_LEN(people) };

	add_row(&t, "日本", "7", "x", "a");
	add_row(&t, "abcd", "7", "x", "a");
	assert_prints(&t, SIZE_MAX,
	              "NAME  AGE  NOTE  WORDS\n"
	              "日本    7  x     a\n"
	              "abcd    7  x     a\n");
	table_done(&t);
}

static void test_table__wraps_words_below_each_other(void **state)
{
	static const struct table_column columns[] = { { NULL, TABLE_LEFT },
		                                       { NULL, TABLE_LEFT, 0, 10, true } };
	struct table t = { .columns = columns, .n_columns = 2, .indent = 2 };

	table_add(&t, "tasks", INK_PLAIN);
	table_add(&t, "every process in one readverylongword", INK_PLAIN);
	table_add(&t, "x", INK_PLAIN);
	table_add(&t, "", INK_PLAIN);
	assert_prints(&t, 19,
	              "  tasks  every\n"
	              "         process in\n"
	              "         one\n"
	              "         readverylo\n"
	              "         ngword\n"
	              "  x\n");
	table_done(&t);
}

static void test_table__shows_extra_columns_only_where_nothing_is_cut_for_them(void **state)
{
	static const struct table_column columns[] = {
		{ "ID", TABLE_LEFT, .min_width = 5, .in_middle = true },
		{ "NOTE", TABLE_LEFT, 1, .min_width = 3, .is_extra = true },
	};
	struct table t = { .columns = columns, .n_columns = 2 };

	table_add(&t, "abcdefgh", INK_PLAIN);
	table_add(&t, "longer", INK_PLAIN);
	assert_prints(&t, 16, "ID        NOTE\nabcdefgh  longer\n");
	assert_prints(&t, 13, "ID        NO…\nabcdefgh  lo…\n");
	assert_prints(&t, 12, "ID\nabcdefgh\n");
	assert_prints(&t, 7, "ID\nabc…fgh\n");
	table_done(&t);
}

static void test_table__colours_cells_without_moving_them(void **state)
{
	struct table t = { .columns = people, .n_columns = ARRAY_LEN(people) };
	const struct style style = { .color = true, .width = SIZE_MAX };
	struct buf out = { 0 };

	add_row(&t, "ana", NULL, "x", "a");
	table_print(&t, CANVAS(&style, &out));
	assert_string_equal(
		out.at,
		"\x1b[1mNAME\x1b[0m  \x1b[1mAGE\x1b[0m  \x1b[1mNOTE\x1b[0m  \x1b[1mWORDS\x1b[0m\n"
		"ana     \x1b[2m-\x1b[0m  x     a\n");
	table_done(&t);
	buf_done(&out);
}

RUN_TESTS(TEST(test_table__aligns_columns_and_leaves_no_blanks_at_the_end),
          TEST(test_table__narrows_gaps_then_leaves_out_columns_then_cuts),
          TEST(test_table__leaves_out_a_column_without_values),
          TEST(test_table__shows_its_head_without_rows),
          TEST(test_table__escapes_text_from_outside),
          TEST(test_table__counts_wide_characters_twice),
          TEST(test_table__wraps_words_below_each_other),
          TEST(test_table__shows_extra_columns_only_where_nothing_is_cut_for_them),
          TEST(test_table__colours_cells_without_moving_them))
