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

static int take_value(const struct opt *o, const char *value, struct err *err)
{
	struct scan text = scan_str(value);
	uint64_t number;

	switch (o->kind) {
	case OPT_TEXT:
		*(const char **)o->to = value;
		return 0;
	case OPT_DURATION:
		if (!clock_parse_duration(text, o->to))
			return err_set(err, EINVAL,
			               "--%s '%s': not a time; write 0.5, 10s, 5m or 2h", o->name,
			               value);
		return 0;
	case OPT_U64:
		if (!scan_u64(&text, &number) || !scan_at_end(&text))
			return err_set(err, EINVAL, "--%s '%s': not a whole number", o->name,
			               value);
		*(uint64_t *)o->to = number;
		return 0;
	case OPT_FLAG:
		break;
	}
	return err_set(err, EINVAL, "--%s takes no value", o->name);
}

/* One option word at argv[*i]; *i moves on past a value that stands apart. */
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
	return take_value(o, value ? value : argv[++*i], err);
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
