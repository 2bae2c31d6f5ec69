/* SPDX-License-Identifier: MIT */
#include "job/signature.h"

#include <stdio.h>

#include "check.h"

#define BYTES(text) scan_mem(text, sizeof(text) - 1)

static void test_sign_environ__finds_the_variable_and_nothing_like_it(void **state)
{
	const struct {
		struct scan bytes;
		const char *id; /* NULL: none */
	} rows[] = {
		{ BYTES("A=1\0PROCTOR_JOB_ID=train-7\0B=2\0"), "train-7" },
		{ BYTES("PROCTOR_JOB_ID=a\0PROCTOR_JOB_ID=b\0"), "a" },
		{ BYTES("XPROCTOR_JOB_ID=a\0"), NULL },
		{ BYTES("PROCTOR_JOB_IDS=a\0"), NULL },
		{ BYTES("A=PROCTOR_JOB_ID=a\0"), NULL },
		{ BYTES("PROCTOR_JOB_ID=\0"), NULL },
		{ BYTES("PROCTOR_JOB_ID=../x\0"), NULL },
		{ BYTES("PROCTOR_JOB_ID=cut"), NULL },
		{ BYTES("PROCTOR_JOB_ID\0"), NULL },
		{ BYTES(""), NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char id[JOB_ID_MAX] = "untouched";

		assert_int_equal(signature_environ(rows[i].bytes, id), rows[i].id != NULL);
		assert_string_equal(id, rows[i].id ? rows[i].id : "untouched");
	}
}

static void test_sign_environ__refuses_what_is_longer_than_a_name(void **state)
{
	char bytes[300] = "PROCTOR_JOB_ID=", id[JOB_ID_MAX] = "untouched";

	memset(bytes + 15, 'x', 200);
	assert_false(signature_environ(scan_mem(bytes, sizeof bytes), id));
	assert_string_equal(id, "untouched");
}

static void test_sign_workspace__is_named_whole(void **state)
{
	const struct {
		const char *command;
		bool is_named;
	} rows[] = {
		{ "/data/run1", true },
		{ "/data/run1/bin/train --fast", true },
		{ "python x.py --out=/data/run1", true },
		{ "python x.py -o /data/run1/", true },
		{ "sh -c cd '/data/run1'; make", true },
		{ "x /data/run10 /data/run1", true },
		{ "rsync host:/data/run1 .", true },
		{ "x /data/run10", false },
		{ "x /data/run1.old", false },
		{ "x /old/data/run1", false },
		{ "x data/run1", false },
		{ "x /data/run", false },
		{ "", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (signature_workspace(scan_str(rows[i].command), "/data/run1") !=
		    rows[i].is_named)
			fail_msg("'%s'", rows[i].command);
	assert_false(signature_workspace(scan_str("anything"), ""));
}

static void test_sign_workspace_clean__wants_a_directory_below_the_root(void **state)
{
	const struct {
		const char *given, *clean; /* NULL: refused */
	} rows[] = { { "/a/b", "/a/b" }, { "/a/b//", "/a/b" },
		     { "/", NULL },      { "//", NULL },
		     { "a/b", NULL },    { "", NULL },
		     { ".", NULL },      { "/a/../b", NULL },
		     { "/a/.", NULL },   { "/a/.b/..c", "/a/.b/..c" } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char path[32];

		snprintf(path, sizeof path, "%s", rows[i].given);
		assert_int_equal(signature_workspace_clean(path), rows[i].clean != NULL);
		if (rows[i].clean)
			assert_string_equal(path, rows[i].clean);
	}
}

static void test_sign_workspace_find__reads_the_tags(void **state)
{
	const struct {
		const char *tags, *path; /* NULL: none */
	} rows[] = {
		{ "{\"a\":\"b\",\"workspace\":\"/data/x/\"}", "/data/x" },
		{ "{\"workspace\":\"/a \\\"b\\\"\"}", "/a \"b\"" },
		{ "{\"workspace\":\"dev\"}", NULL },
		{ "{\"workspace\":\"\"}", NULL },
		{ "{\"a\":\"/data/x\"}", NULL },
		{ "{}", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char path[JOB_CWD_MAX] = "";

		assert_int_equal(signature_workspace_find(rows[i].tags, path),
		                 rows[i].path != NULL);
		assert_string_equal(path, rows[i].path ? rows[i].path : "");
	}
}

RUN_TESTS(TEST(test_sign_environ__finds_the_variable_and_nothing_like_it),
          TEST(test_sign_environ__refuses_what_is_longer_than_a_name),
          TEST(test_sign_workspace__is_named_whole),
          TEST(test_sign_workspace_clean__wants_a_directory_below_the_root),
          TEST(test_sign_workspace_find__reads_the_tags))
