/* SPDX-License-Identifier: MIT */
/* Command lines, arguments separated by NULs: a type and an id need no quotes, stay in their
 * directory, and the same command has the same. */
#include <string.h>

#include "fuzz.h"
#include "job/job_ident.h"
#include "job/job_type.h"

#define ARGS_MAX 64
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-"

static int split(char *text, size_t size, char *argv[ARGS_MAX + 1])
{
	int argc = 0;

	for (size_t at = 0; at < size && argc < ARGS_MAX; at += strlen(text + at) + 1)
		argv[argc++] = text + at;
	argv[argc] = NULL;
	return argc;
}

static void check(int argc, char **argv)
{
	char type[JOB_ID_MAX], again[JOB_ID_MAX], id[JOB_ID_MAX], tags[JOB_TAGS_MAX];
	struct err err = { 0 };

	job_type(argc, argv, type);
	job_type(argc, argv, again);
	FUZZ_CHECK(strcmp(type, again) == 0);
	FUZZ_CHECK(type[0] && strlen(type) <= JOB_TYPE_LEN && !strchr("-.:", type[0]));
	FUZZ_CHECK(strspn(type, LETTERS ":") == strlen(type));
	job_ident_new(type, 1, 2, 3, id);
	FUZZ_CHECK(strspn(id, LETTERS) == strlen(id) && strlen(id) <= 48);
	job_ident_new(argc ? argv[0] : "", 1, 2, 3, id);
	FUZZ_CHECK(strspn(id, LETTERS) == strlen(id) && !strchr("-.", id[0]));
	if (job_ident_tags_json((const char *const *)argv, (size_t)argc, tags, &err) == 0)
		FUZZ_CHECK(strlen(tags) < JOB_TAGS_MAX && (tags[0] == '{') == (argc > 0));
	else
		FUZZ_CHECK(err.code && err.msg[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *argv[ARGS_MAX + 1], *text = malloc(size + 1);

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	check(split(text, size, argv), argv);
	free(text);
	return 0;
}
