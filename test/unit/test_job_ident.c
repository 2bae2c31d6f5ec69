/* SPDX-License-Identifier: MIT */
#include "job/job_ident.h"

#include <errno.h>

#include "check.h"

static void test_job_new_id__is_the_type_and_eight_characters(void **state)
{
	char id[JOB_ID_MAX], again[JOB_ID_MAX];

	job_ident_new("train.py", 1700000000000000000, 4711, 42, id);
	assert_int_equal(strlen(id), strlen("train.py-xxxxxxxx"));
	assert_memory_equal(id, "train.py-", 9);
	assert_int_equal(strspn(id + 9, "0123456789abcdefghjkmnpqrstvwxyz"), 8);
	job_ident_new("train.py", 1700000000000000000, 4711, 42, again);
	assert_string_equal(id, again);
	job_ident_new("train.py", 1700000000000000000, 4711, 43, again);
	assert_string_not_equal(id, again);
	job_ident_new("train.py", 1700000000000000000, 4712, 42, again);
	assert_string_not_equal(id, again);
}

static void test_job_new_id__is_a_safe_file_name(void **state)
{
	static const char *const types[] = { "sh:k3x9m2", "../../etc/passwd",
		                             "-rf",       "a b\n\x1b[m",
		                             "",          "~last" };
	char id[JOB_ID_MAX];

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		job_ident_new(types[i], 1, 2, 3, id);
		assert_int_equal(strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		                            "0123456789._-"),
		                 strlen(id));
		assert_true(id[0] != '-' && id[0] != '.');
	}
	job_ident_new("sh:k3x9m2", 1, 2, 3, id);
	assert_memory_equal(id, "sh-k3x9m2-", 10);
}

static void test_job_new_id__is_at_most_48_long(void **state)
{
	char type[JOB_ID_MAX], id[JOB_ID_MAX];

	memset(type, 'x', sizeof type - 1);
	type[sizeof type - 1] = '\0';
	job_ident_new(type, 1, 2, 3, id);
	assert_int_equal(strlen(id), 48);
	assert_int_equal(id[39], '-');
}

/* A day of a busy machine, on one clock tick each. */
static void test_job_new_id__distinguishes_many_runs(void **state)
{
	char(*ids)[JOB_ID_MAX] = calloc(1000, sizeof *ids), id[JOB_ID_MAX];
	unsigned equal = 0;

	for (size_t i = 0; i < 1000; i++) {
		job_ident_new("", 1700000000000000000 + i * 4000000, 100 + (pid_t)i, i * 7, id);
		memcpy(ids[i], id, sizeof id);
		for (size_t k = 0; k < i; k++)
			equal += strcmp(ids[k], ids[i]) == 0;
	}
	free(ids);
	assert_int_equal(equal, 0);
}

#define TAGS(...)                                                                                  \
	(const char *const[]){ __VA_ARGS__ }, ARRAY_LEN(((const char *const[]){ __VA_ARGS__ }))

static void test_job_tags__become_a_json_object(void **state)
{
	char text[JOB_TAGS_MAX];
	struct err err = { 0 };

	assert_int_equal(job_ident_tags_json(NULL, 0, text, &err), 0);
	assert_string_equal(text, "");
	assert_int_equal(
		job_ident_tags_json(TAGS("seed=7", "note=a \"b\"=c", "empty="), text, &err), 0);
	assert_string_equal(text, "{\"seed\":\"7\",\"note\":\"a \\\"b\\\"=c\",\"empty\":\"\"}");
}

static void test_job_tags__take_the_last_of_equal_keys(void **state)
{
	char text[JOB_TAGS_MAX];
	struct err err = { 0 };

	assert_int_equal(job_ident_tags_json(TAGS("a=1", "b=2", "a=3", "aa=4"), text, &err), 0);
	assert_string_equal(text, "{\"a\":\"3\",\"b\":\"2\",\"aa\":\"4\"}");
}

static void test_job_tags__name_the_one_that_is_bad(void **state)
{
	static const struct {
		const char *tag, *message;
	} cases[] = {
		{ "lonely", "tag 'lonely': write KEY=VALUE" },
		{ "=x", "tag '=x': it has no key" },
		{ "a b=x", "tag 'a b=x': a key has letters, digits and . _ - only" },
		{ "\x1b[2J=x", "tag '\\x1b[2J=x': a key has letters, digits and . _ - only" },
	};
	char text[JOB_TAGS_MAX] = "untouched";

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };

		assert_int_equal(job_ident_tags_json(TAGS("ok=1", cases[i].tag), text, &err),
		                 -EINVAL);
		assert_string_equal(err.msg, cases[i].message);
	}
	assert_string_equal(text, "untouched");
}

static void test_job_tags__have_a_ceiling(void **state)
{
	char text[JOB_TAGS_MAX], big[JOB_TAGS_MAX + 16];
	struct err err = { 0 };

	memset(big, 'v', sizeof big);
	memcpy(big, "k=", 2);
	for (size_t len = 3; len < sizeof big; len++) {
		big[len] = '\0';
		if (job_ident_tags_json(TAGS(big), text, &err) == 0)
			assert_int_equal(strlen(text), strlen("{\"k\":\"\"}") + len - 2);
		else
			assert_true(len > 1000);
		big[len] = 'v';
	}
	big[sizeof big - 1] = '\0';
	assert_int_equal(job_ident_tags_json(TAGS("a=1", big), text, &err), -EINVAL);
	assert_memory_equal(err.msg, "tag 'k=vvv", 10);
}

static void test_job_name_check__takes_only_what_a_directory_can_be_called(void **state)
{
	static const char *const good[] = { "a", "train.py", "x:y@z+1-2_3", "7" };
	static const char *const bad[] = { "",    ".",   "..",       "-x", "a/b",
		                           "a b", "a\n", "\xc3\xa9", "a'", "last" };
	char longest[JOB_NAME_MAX + 2];
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_int_equal(job_ident_check(good[i], &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(job_ident_check(bad[i], &err), -EINVAL);
	memset(longest, 'x', sizeof longest);
	longest[JOB_NAME_MAX + 1] = '\0';
	assert_int_equal(job_ident_check(longest, &err), -EINVAL);
	longest[JOB_NAME_MAX] = '\0';
	assert_int_equal(job_ident_check(longest, &err), 0);
}

static void test_job_id_check__leaves_the_colon_to_user_and_id(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(job_ident_check_id("x@z+1-2_3", &err), 0);
	assert_int_equal(job_ident_check_id("0:x", &err), -EINVAL);
	assert_int_equal(job_ident_check_id("x:", &err), -EINVAL);
	assert_int_equal(job_ident_check_id("a/b", &err), -EINVAL);
}

RUN_TESTS(TEST(test_job_name_check__takes_only_what_a_directory_can_be_called),
          TEST(test_job_id_check__leaves_the_colon_to_user_and_id),
          TEST(test_job_new_id__is_the_type_and_eight_characters),
          TEST(test_job_new_id__is_a_safe_file_name), TEST(test_job_new_id__is_at_most_48_long),
          TEST(test_job_new_id__distinguishes_many_runs), TEST(test_job_tags__become_a_json_object),
          TEST(test_job_tags__take_the_last_of_equal_keys),
          TEST(test_job_tags__name_the_one_that_is_bad), TEST(test_job_tags__have_a_ceiling))
