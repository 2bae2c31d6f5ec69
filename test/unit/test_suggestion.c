/* SPDX-License-Identifier: MIT */
#include "base/suggestion.h"

#include "check.h"

static const char *nearest(const char *word)
{
	struct suggestion near = { .word = word, .len = strlen(word) };

	suggestion_offer(&near, "snapshot");
	suggestion_offer(&near, "record");
	suggestion_offer(&near, "doctor");
	suggestion_offer(&near, "sql");
	return near.best;
}

static void test_suggestion__finds_a_typo(void **state)
{
	assert_string_equal(nearest("snapsht"), "snapshot");
	assert_string_equal(nearest("recrod"), "record");
	assert_string_equal(nearest("sqll"), "sql");
}

static void test_suggestion__accepts_a_prefix(void **state)
{
	assert_string_equal(nearest("snap"), "snapshot");
	assert_string_equal(nearest("doc"), "doctor");
}

static void test_suggestion__offers_nothing_for_another_word(void **state)
{
	assert_null(nearest("frobnicate"));
	assert_null(nearest("x"));
	assert_null(nearest(""));
}

static void test_suggestion__survives_words_of_any_length(void **state)
{
	char word[5000];

	memset(word, 's', sizeof word - 1);
	word[sizeof word - 1] = '\0';
	assert_null(nearest(word));
}

RUN_TESTS(TEST(test_suggestion__finds_a_typo), TEST(test_suggestion__accepts_a_prefix),
          TEST(test_suggestion__offers_nothing_for_another_word),
          TEST(test_suggestion__survives_words_of_any_length))
