/* SPDX-License-Identifier: MIT */
/* The walker over JSON against jansson: what jansson takes as an object is one, and has the same
 * members; what the walker takes and jansson does not are numbers and characters that are well
 * formed but that jansson cannot hold. */
#include <jansson.h>
#include <string.h>

#include "base/json_read.h"
#include "fuzz.h"

/* A name that stands in the text as it is. */
static bool is_plain(const char *key)
{
	for (; *key; key++)
		if (*key == '"' || *key == '\\' || (unsigned char)*key < 0x20)
			return false;
	return true;
}

static bool can_hold(const char *problem)
{
	return !strstr(problem, "too big") && !strstr(problem, "overflow") &&
	       !strstr(problem, "\\u") && !strstr(problem, "NUL byte") &&
	       !strstr(problem, "Unicode");
}

static void check_text(struct scan value, const json_t *known)
{
	cleanup(buf_done) struct buf text = { 0 };

	if (*value.p != '"' || !json_is_string(known) ||
	    !json_read_text(scan_mem(value.p + 1, scan_left(&value) - 2), &text))
		return;
	FUZZ_CHECK(text.len == json_string_length(known));
	FUZZ_CHECK(!text.len || memcmp(text.at, json_string_value(known), text.len) == 0);
}

static size_t count_members(struct scan text)
{
	struct scan name, value;
	size_t n = 0;

	while (json_read_next(&text, &name, &value))
		n++;
	return n;
}

/* json_read_find() returns the first member of a name, jansson keeps the last. */
static void check_members(struct scan text, json_t *known, bool is_unique)
{
	for (void *at = json_object_iter(known); at; at = json_object_iter_next(known, at)) {
		const char *key = json_object_iter_key(at);
		struct scan value;
		uint64_t milli;

		if (!is_plain(key) || !json_read_find(text, key, &value))
			continue;
		FUZZ_CHECK(value.p > text.p && value.end > value.p && value.end < text.end);
		json_read_milli(value, &milli);
		if (is_unique)
			check_text(value, json_object_iter_value(at));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan text = scan_mem((const char *)data, size);
	bool is_object = json_read_is_object(text);
	json_error_t error = { 0 };
	json_t *known = json_loadb((const char *)data, size, JSON_ALLOW_NUL, &error);

	if (json_is_object(known)) {
		/* jansson passes over a NUL behind a number. */
		FUZZ_CHECK(is_object || size > 2 * JSON_READ_DEPTH_MAX || memchr(data, 0, size));
		check_members(text, known, count_members(text) == json_object_size(known));
	} else if (is_object) {
		FUZZ_CHECK(!known && !can_hold(error.text));
	}
	json_decref(known);
	return 0;
}
