/* SPDX-License-Identifier: MIT */
#include "base/opts.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"

#define GIB_MEANT_BELOW 64 /* `--mem 8` is meant as 8G, `--mem 512` as 512M */

/* By its name, or by its letter if `name` is NULL. */
static const struct opt *find(const struct opt *opts, const char *name, size_t n, char letter)
{
	for (; opts->name; opts++)
		if (name ? strlen(opts->name) == n && memcmp(opts->name, name, n) == 0
		         : opts->letter && opts->letter == letter)
			return opts;
	return NULL;
}

bool opts_parse_size(struct scan text, uint64_t *ret)
{
	static const char units[] = "KMGT";
	uint64_t milli, scale = 1;
	const char *unit;

	if (!scan_typed(&text, 3, &milli))
		return false;
	/* Not strchr(), which finds the NUL for a blank. */
	unit = text.p < text.end ? memchr(units, *text.p & ~0x20, strlen(units)) : NULL;
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

static bool parse_u64(struct scan text, uint64_t *ret)
{
	uint64_t number;

	if (!scan_u64(&text, &number) || !scan_at_end(&text))
		return false;
	*ret = number;
	return true;
}

/* Whether it would be one with smaller numbers in it. */
static bool is_too_large(const char *value, bool (*parse)(struct scan text, uint64_t *ret))
{
	cleanup(buf_done) struct buf small = { .max = 256 };
	uint64_t number;

	for (const char *p = value; *p; p++)
		if (!scan_is_digit(*p) || p == value || !scan_is_digit(p[-1]))
			buf_putc(&small, scan_is_digit(*p) ? '1' : *p);
	return small.len && !strchr(value, ':') && parse(scan_str(small.at), &number);
}

static int store_number(const struct opt *o, const char *value,
                        bool (*parse)(struct scan text, uint64_t *ret), const char *what,
                        struct err *err)
{
	if (parse(scan_str(value), o->to))
		return 0;
	if (is_too_large(value, parse))
		return err_set(err, EINVAL, "--%s '%s' is too large", o->name, value);
	return err_set(err, EINVAL, "--%s '%s': not %s", o->name, value, what);
}

/* Less than any command needs: the unit was forgotten. */
static int store_size(const struct opt *o, const char *value, struct err *err)
{
	bool has_unit = value[strspn(value, "0123456789.")] != '\0';
	uint64_t bytes;

	if (!opts_parse_size(scan_str(value), &bytes) && is_too_large(value, opts_parse_size))
		return err_set(err, EINVAL, "--%s '%s' is too large", o->name, value);
	if (!opts_parse_size(scan_str(value), &bytes))
		return err_set(err, EINVAL, "--%s '%s': not a size; write 500M or 8G", o->name,
		               value);
	if (bytes >= OPT_SIZE_MIN || bytes == 0) {
		*(uint64_t *)o->to = bytes;
		return 0;
	}
	if (has_unit)
		return err_set(err, EINVAL, "--%s '%s' is too small; write 1M or more", o->name,
		               value);
	return err_set(err, EINVAL, "--%s '%s' is too small: %llu bytes; did you mean --%s %s%c?",
	               o->name, value, (unsigned long long)bytes, o->name, value,
	               bytes < GIB_MEANT_BELOW ? 'G' : 'M');
}

static int store_value(const struct opt *o, const char *value, struct err *err)
{
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
		return store_number(o, value, clock_parse_duration,
		                    "a time; write 90, 0.5s, 1h30m or 1:30:00", err);
	case OPT_U64:
	case OPT_U64_MAYBE:
		return store_number(o, value, parse_u64, "a whole number", err);
	case OPT_SIZE:
		return store_size(o, value, err);
	case OPT_MILLI:
		return store_number(o, value, parse_milli, "a number; write 2 or 0.5", err);
	case OPT_LIST:
		return add_to_list(o, value, err);
	case OPT_FLAG:
		break;
	}
	return err_set(err, EINVAL, "--%s takes no value", o->name);
}

/* The value follows in the same word, or is the next one: *i advances past it. */
static int take_value(const struct opt *o, const char *value, int argc, char **argv, int *i,
                      struct err *err)
{
	if (!value && *i + 1 >= argc)
		return err_set(err, EINVAL, "--%s needs a value (%s)", o->name, o->value);
	return store_value(o, value ? value : argv[++*i], err);
}

/* --name, --name=value, --name value */
static int parse_name(const struct opt *opts, int argc, char **argv, int *i, struct err *err)
{
	const char *word = argv[*i] + 2, *equals = strchr(word, '=');
	const struct opt *o = find(opts, word, strcspn(word, "="), 0);

	if (!o)
		return err_set(err, EINVAL, "unknown option '%s'", argv[*i]);
	if (equals || (o->kind != OPT_FLAG && o->kind != OPT_U64_MAYBE))
		return take_value(o, equals ? equals + 1 : NULL, argc, argv, i, err);
	if (o->kind == OPT_FLAG)
		*(bool *)o->to = true;
	else
		*(uint64_t *)o->to = OPT_NO_VALUE;
	return 0;
}

/* -q, -qw, -n5, -n 5, -qn5: flags may be joined, and one with a value ends the word. */
static int parse_letters(const struct opt *opts, int argc, char **argv, int *i, struct err *err)
{
	const char *word = argv[*i];

	for (const char *at = word + 1; *at; at++) {
		const struct opt *o = find(opts, NULL, 0, *at);

		if (!o && word[2] && *at > ' ')
			return err_set(err, EINVAL, "unknown option '-%c' in '%s'", *at, word);
		if (!o)
			return err_set(err, EINVAL, "unknown option '%s'", word);
		if (o->kind != OPT_FLAG)
			return take_value(o, at[1] ? at + 1 : NULL, argc, argv, i, err);
		*(bool *)o->to = true;
	}
	return 0;
}

int opts_parse(const struct opt *opts, int argc, char **argv, bool *ret_ended, struct err *err)
{
	int i;

	*ret_ended = false;
	for (i = 1; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
		int r;

		if (strcmp(argv[i], "--") == 0) {
			*ret_ended = true;
			return i + 1;
		}
		r = argv[i][1] == '-' ? parse_name(opts, argc, argv, &i, err)
		                      : parse_letters(opts, argc, argv, &i, err);
		if (r < 0)
			return r;
	}
	return i;
}
