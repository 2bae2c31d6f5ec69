/* SPDX-License-Identifier: MIT */
#include "base/opts.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/scan.h"

static const struct opt *find_long(const struct opt *opts, const char *name, size_t n)
{
	for (; opts->name; opts++)
		if (strlen(opts->name) == n && memcmp(opts->name, name, n) == 0)
			return opts;
	return NULL;
}

static const struct opt *find_letter(const struct opt *opts, char letter)
{
	for (; opts->name; opts++)
		if (opts->letter && opts->letter == letter)
			return opts;
	return NULL;
}

/* "512", "500M", "1.5G", optionally followed by "B" or "iB". */
static bool parse_size(struct scan text, uint64_t *ret)
{
	static const char units[] = "KMGT";
	uint64_t milli, scale = 1;
	const char *unit;

	if (!scan_typed(&text, 3, &milli))
		return false;
	unit = text.p < text.end ? strchr(units, *text.p & ~0x20) : NULL;
	if (unit) {
		scale = UINT64_C(1) << (10 * (unit - units + 1));
		text.p++;
		(void)scan_lit(&text, "i");
	}
	(void)scan_lit(&text, "B");
	if (!scan_at_end(&text) || __builtin_mul_overflow(milli, scale, &milli))
		return false;
	*ret = milli / 1000;
	return true;
}

static bool parse_milli(struct scan text, uint64_t *ret)
{
	uint64_t milli;

	if (!scan_typed(&text, 3, &milli) || !scan_at_end(&text))
		return false;
	*ret = milli;
	return true;
}

static int add_to_list(const struct opt *o, const char *value, struct err *err)
{
	struct opt_list *list = o->to;

	if (list->len == OPT_LIST_MAX)
		return err_set(err, EINVAL, "--%s is given more than %d times", o->name,
		               OPT_LIST_MAX);
	list->at[list->len++] = value;
	return 0;
}

static int reject_value(const struct opt *o, const char *value, const char *what, struct err *err)
{
	return err_set(err, EINVAL, "--%s '%s': not %s", o->name, value, what);
}

static int store_value(const struct opt *o, const char *value, struct err *err)
{
	struct scan text = scan_str(value);
	uint64_t number;

	switch (o->kind) {
	case OPT_PATH:
		if (!*value)
			return err_set(err, EINVAL, "--%s is empty: it needs a value (%s)", o->name,
			               o->value);
		*(const char **)o->to = value;
		return 0;
	case OPT_TEXT:
		*(const char **)o->to = value;
		return 0;
	case OPT_DURATION:
		if (!clock_parse_duration(text, o->to))
			return reject_value(o, value, "a time; write 0.5, 10s, 5m or 2h", err);
		return 0;
	case OPT_U64:
		if (!scan_u64(&text, &number) || !scan_at_end(&text))
			return reject_value(o, value, "a whole number", err);
		*(uint64_t *)o->to = number;
		return 0;
	case OPT_SIZE:
		if (!parse_size(text, o->to))
			return reject_value(o, value, "a size; write 500M or 8G", err);
		return 0;
	case OPT_MILLI:
		if (!parse_milli(text, o->to))
			return reject_value(o, value, "a number; write 2 or 0.5", err);
		return 0;
	case OPT_LIST:
		return add_to_list(o, value, err);
	case OPT_FLAG:
		break;
	}
	return err_set(err, EINVAL, "--%s takes no value", o->name);
}

/* Parses the option at argv[*i]; *i advances past a value in a word of its own. */
static int parse_one(const struct opt *opts, int argc, char **argv, int *i, struct err *err)
{
	const char *word = argv[*i], *value = NULL;
	const struct opt *o;

	if (word[1] == '-') {
		const char *equals = strchr(word, '=');

		o = find_long(opts, word + 2,
		              equals ? (size_t)(equals - word - 2) : strlen(word + 2));
		value = equals ? equals + 1 : NULL;
	} else {
		o = find_letter(opts, word[1]);
		value = word[2] ? word + 2 : NULL;
	}
	if (!o)
		return err_set(err, EINVAL, "unknown option '%s'", word);
	if (o->kind == OPT_FLAG && !value) {
		*(bool *)o->to = true;
		return 0;
	}
	if (!value && *i + 1 >= argc)
		return err_set(err, EINVAL, "--%s needs a value (%s)", o->name, o->value);
	return store_value(o, value ? value : argv[++*i], err);
}

int opts_parse(const struct opt *opts, int argc, char **argv, struct err *err)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
		int r;

		if (strcmp(argv[i], "--") == 0)
			return i + 1;
		r = parse_one(opts, argc, argv, &i, err);
		if (r < 0)
			return r;
	}
	return i;
}
