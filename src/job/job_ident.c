/* SPDX-License-Identifier: MIT */
#include "job/job_ident.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "model/redact.h"
#include "base/text.h"

#define ID_LEN 48
#define TAIL_LEN 8       /* 40 bits: ten thousand runs of one type meet with odds of 1 to 20,000 */
#define SHOWN_COLUMNS 60 /* of a tag that is refused */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

void job_ident_new(const char *type, uint64_t wall_ns, pid_t pid, uint64_t random,
                   char ret[JOB_ID_MAX])
{
	uint64_t facts[] = { wall_ns, (uint64_t)pid, random };
	char tail[TAIL_LEN + 1];
	int len;

	hash_name(hash_bytes(HASH_SEED, facts, sizeof facts), TAIL_LEN, tail);
	len = snprintf(ret, JOB_ID_MAX, "%.*s", ID_LEN - TAIL_LEN - 1, type);
	for (int i = 0; i < len; i++)
		if (!is_plain(ret[i]) || (i == 0 && strchr("-.", ret[i])))
			ret[i] = i ? '-' : '_';
	snprintf(ret + len, JOB_ID_MAX - (size_t)len, "%s%s", len ? "-" : "", tail);
}

/* The tag as it may be shown in an error. */
static int refuse(const char *text, const char *why, struct err *err)
{
	cleanup(buf_done) struct buf shown = { .max = 4096 };

	text_display(&shown, text, strlen(text), SHOWN_COLUMNS);
	return err_set(err, EINVAL, "tag '%s': %s", shown.at ? shown.at : "", why);
}

static size_t key_len(const char *text)
{
	return strcspn(text, "=");
}

static int check_key(const char *text, size_t n, struct err *err)
{
	if (n == 0)
		return refuse(text, "it has no key", err);
	if (n > JOB_TAG_KEY_MAX)
		return refuse(text, "its key is longer than 64 characters", err);
	for (size_t i = 0; i < n; i++)
		if (!is_plain(text[i]))
			return refuse(text, "a key has letters, digits and . _ - only", err);
	return 0;
}

static int check(const char *text, struct err *err)
{
	size_t n = key_len(text);

	if (text[n] != '=')
		return refuse(text, "write KEY=VALUE", err);
	return check_key(text, n, err);
}

int job_ident_check_tag_key(const char *key, struct err *err)
{
	return check_key(key, strlen(key), err);
}

static bool is_same_key(const char *a, const char *b)
{
	return key_len(a) == key_len(b) && memcmp(a, b, key_len(a)) == 0;
}

static const char *last_of_its_key(const char *const *texts, size_t n, size_t i)
{
	size_t last = i;

	for (size_t k = i + 1; k < n; k++)
		if (is_same_key(texts[k], texts[i]))
			last = k;
	return texts[last];
}

static bool is_first_of_its_key(const char *const *texts, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (is_same_key(texts[k], texts[i]))
			return false;
	return true;
}

int job_ident_tags_json(const char *const *texts, size_t n, char ret[JOB_TAGS_MAX], struct err *err)
{
	cleanup(buf_done) struct buf out = { .max = JOB_TAGS_MAX - 1 }, safe = { 0 };
	struct json j = { .out = &out };
	char key[JOB_TAG_KEY_MAX + 1];

	for (size_t i = 0; i < n; i++)
		if (check(texts[i], err) < 0)
			return -err->code;
	if (n)
		json_begin_object(&j);
	for (size_t i = 0; i < n; i++) {
		const char *value = last_of_its_key(texts, n, i) + key_len(texts[i]) + 1;

		if (!is_first_of_its_key(texts, i))
			continue;
		snprintf(key, sizeof key, "%.*s", (int)key_len(texts[i]), texts[i]);
		json_key_text(&j, key);
		buf_reset(&safe);
		redact_value(key, value, &safe);
		json_strn(&j, safe.at ? safe.at : "", safe.len);
		if (out.full || out.len + 1 > out.max)
			return refuse(texts[i], "the tags of a job must fit into 1,000 bytes", err);
	}
	if (n)
		json_end_object(&j);
	snprintf(ret, JOB_TAGS_MAX, "%s", out.len ? out.at : "");
	return 0;
}

int job_ident_check(const char *name, struct err *err)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-:@";
	size_t len = strlen(name), good = strspn(name, allowed);

	if (len == 0 || len > JOB_NAME_MAX)
		return err_set(err, EINVAL, "a name has 1 to %d characters", JOB_NAME_MAX);
	if (name[0] == '.' || name[0] == '-')
		return err_set(err, EINVAL, "'%s' begins with '%c'", name, name[0]);
	if (strncmp(name, "last", 4) == 0 && (name[4] == '\0' || name[4] == '~'))
		return err_set(err, EINVAL, "'last' means the latest job of all");
	if (good != len)
		return err_set(err, EINVAL,
		               "'%s' has more than letters, digits and . _ + - : @ in it", name);
	return 0;
}

int job_ident_check_id(const char *id, struct err *err)
{
	if (strchr(id, ':'))
		return err_set(err, EINVAL,
		               "an id has no ':': USER:ID names a job of another user");
	return job_ident_check(id, err);
}
