/* SPDX-License-Identifier: MIT */
#include "rpc/key_values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scan.h"

static const char *skip_digits(const char *p)
{
	while (*p >= '0' && *p <= '9')
		p++;
	return p;
}

/* A number in JSON's syntax: no leading zeros or plus, digits on both sides of a point. */
static bool is_json_number(const char *p, bool *ret_is_whole)
{
	const char *digits = p + (*p == '-'), *end = skip_digits(digits);

	if (end == digits || (*digits == '0' && end > digits + 1))
		return false;
	*ret_is_whole = *end == '\0';
	if (*end == '.') {
		digits = end + 1;
		end = skip_digits(digits);
		if (end == digits)
			return false;
	}
	if (*end == 'e' || *end == 'E') {
		digits = end + 1 + (end[1] == '+' || end[1] == '-');
		end = skip_digits(digits);
		if (end == digits)
			return false;
	}
	return *end == '\0';
}

/* A number that we cannot represent exactly enough stays a string, so that nothing is lost. */
static bool is_number(const char *text)
{
	struct scan s = scan_str(text);
	bool is_whole;
	int64_t whole;

	if (!is_json_number(text, &is_whole))
		return false;
	return is_whole ? scan_i64(&s, &whole) && scan_at_end(&s) : isfinite(strtod(text, NULL));
}

static void put_value(struct json *j, const char *text)
{
	if (is_number(text) || strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		json_raw(j, text, strlen(text));
	else
		json_str(j, text);
}

bool key_values_is_one(const char *word)
{
	return word[0] != '=' && strchr(word, '=') != NULL;
}

static size_t key_len(const char *word)
{
	return strcspn(word, "=");
}

static bool is_repeated(char *const *words, size_t i)
{
	size_t len = key_len(words[i]);

	for (size_t k = 0; k < i; k++)
		if (key_len(words[k]) == len && memcmp(words[k], words[i], len) == 0)
			return true;
	return false;
}

int key_values_put(struct json *j, char *const *words, size_t n, struct err *err)
{
	json_begin_object(j);
	for (size_t i = 0; i < n; i++) {
		cleanup(freep) char *key = NULL;

		if (!key_values_is_one(words[i]))
			return err_set(err, EINVAL, "'%s' is not KEY=VALUE", words[i]);
		key = xstrndup(words[i], key_len(words[i]));
		if (is_repeated(words, i))
			return err_set(err, EINVAL, "'%s' is given twice", key);
		json_key_text(j, key);
		put_value(j, words[i] + strlen(key) + 1);
	}
	json_end_object(j);
	return 0;
}
