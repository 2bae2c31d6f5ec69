/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include "check.h"

static void assert_shown(const char *text, size_t columns, const char *expected)
{
	struct buf out = { 0 };

	buf_puts(&out, "");
	text_display(&out, text, strlen(text), columns);
	assert_string_equal(out.at, expected);
	buf_done(&out);
}

static void test_text_display__escapes_control_characters(void **state)
{
	(void)state;
	assert_shown("a\x1b[31m\n\x7f", 80, "a\\x1b[31m\\n\\x7f");
	assert_shown("\xc2\x9b"
	             "31m",
	             80, "\\u{9b}31m");
	assert_shown("x\xe2\x80\xaey", 80, "x\\u{202e}y");
	assert_shown("\x9b\xff", 80, "\\x9b\\xff");
}

static void test_text_display__cuts_at_the_columns_with_an_ellipsis(void **state)
{
	(void)state;
	assert_shown("abcdef", 6, "abcdef");
	assert_shown("abcdef", 5, "abcd…");
	assert_shown("漢字漢字", 5, "漢字…");
	assert_shown("abc", 0, "");
}

static void assert_cut(const char *text, size_t columns, const char *expected)
{
	struct buf out = { 0 };

	buf_puts(&out, "");
	text_cut_middle(&out, text, strlen(text), columns);
	assert_string_equal(out.at, expected);
	buf_done(&out);
}

static void test_text_cut_middle__keeps_both_ends(void **state)
{
	(void)state;
	assert_cut("train.py-7f3a91c2", 17, "train.py-7f3a91c2");
	assert_cut("train.py-7f3a91c2", 16, "train.p…7f3a91c2");
	assert_cut("train.py-7f3a91c2", 5, "tr…c2");
	assert_cut("漢字漢字漢字", 8, "漢…漢字");
	assert_cut("漢字漢字漢字", 7, "漢…字"); /* never half of a character */
	assert_cut("abcdef", 2, "ab");
	assert_cut("", 5, "");
}

static void test_text_columns__counts_wide_twice_and_combining_not_at_all(void **state)
{
	(void)state;
	assert_int_equal(text_columns("e\xcc\x81", 3), 1);
	assert_int_equal(text_columns("漢", 3), 2);
}

static void assert_copied(const char *text, size_t cap, const char *expected)
{
	char to[16];

	memset(to, '#', sizeof to);
	text_copy(to, cap, text);
	assert_string_equal(to, expected);
	assert_int_equal(to[cap], '#');
}

static void test_text_copy__cuts_between_characters_with_an_ellipsis(void **state)
{
	(void)state;
	assert_copied("abcdef", 7, "abcdef");
	assert_copied("abcdefg", 7, "abc…");
	assert_copied("aééé", 7, "aé…");
	assert_copied("aaéé", 6, "aa…");
	assert_copied("abc", 2, "a"); /* no room for the sign */
}

static void test_text_mark_cut__marks_once_and_leaves_no_half_character(void **state)
{
	char text[16] = "ab\xe6\xbc";
	size_t n = text_mark_cut(text, 4, sizeof text);

	(void)state;
	assert_int_equal(n, 5);
	assert_memory_equal(text, "ab…", 5);
	assert_int_equal(text_mark_cut(text, 5, sizeof text), 5);
}

static void test_text_put_bytes__has_three_digits_that_matter(void **state)
{
	static const struct {
		double bytes;
		const char *text;
	} cases[] = { { 0, "0 B" },
		      { 999, "999 B" },
		      { 1000, "1.0 KiB" },
		      { 1 << 20, "1.0 MiB" },
		      { 99.94 * (1 << 20), "99.9 MiB" },
		      { 99.96 * (1 << 20), "100 MiB" },
		      { 6.1 * (1 << 30), "6.1 GiB" },
		      { 18446744073709551615.0, "16.0 EiB" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[TEXT_BYTES_MAX];

		text_put_bytes(cases[i].bytes, text);
		assert_string_equal(text, cases[i].text);
	}
}

RUN_TESTS(TEST(test_text_put_bytes__has_three_digits_that_matter),
          TEST(test_text_copy__cuts_between_characters_with_an_ellipsis),
          TEST(test_text_mark_cut__marks_once_and_leaves_no_half_character),
          TEST(test_text_display__escapes_control_characters),
          TEST(test_text_display__cuts_at_the_columns_with_an_ellipsis),
          TEST(test_text_cut_middle__keeps_both_ends),
          TEST(test_text_columns__counts_wide_twice_and_combining_not_at_all))
