/* SPDX-License-Identifier: MIT */
#include "rpc/key_values.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/mem.h"

/* A number that we cannot represent stays a string, so that nothing is lost. */
static bool is_number_or_bool(const char *text)
{
	json_t *value = strpbrk(text, " \t\r\n") ? NULL : json_loads(text, JSON_DECODE_ANY, NULL);
	bool is_one = json_is_number(value) || json_is_boolean(value);

	json_decref(value);
	return is_one;
}

static void put_value(struct json *j, const char *text)
{
	if (is_number_or_bool(text))
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
