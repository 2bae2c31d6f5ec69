/* SPDX-License-Identifier: MIT */
#include "view/style.h"

#include <string.h>
#include <strings.h>

#include "base/scan.h"

static bool is_set(const char *value)
{
	return value && *value;
}

bool style_parse_choice(const char *text, enum style_choice *ret)
{
	static const char *const names[] = {
		[STYLE_AUTO] = "auto", [STYLE_ALWAYS] = "always", [STYLE_NEVER] = "never"
	};

	if (!text) {
		*ret = STYLE_AUTO;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(text, names[i]) == 0) {
			*ret = (enum style_choice)i;
			return true;
		}
	return false;
}

/* The option on the command line takes precedence, then no-color.org, then
 * bixense.com/clicolors. */
static bool wants_color(enum style_choice choice, const struct style_env *env)
{
	if (choice != STYLE_AUTO)
		return choice == STYLE_ALWAYS;
	if (is_set(env->no_color))
		return false;
	if (is_set(env->clicolor_force) && strcmp(env->clicolor_force, "0") != 0)
		return true;
	return env->is_tty && !(env->term && strcmp(env->term, "dumb") == 0);
}

/* Where nothing is set (containers, cron) the terminal is UTF-8 these days; where something else is
 * set it was meant. */
static bool wants_unicode(const struct style_env *env)
{
	const char *locale = is_set(env->lc_all)     ? env->lc_all
	                     : is_set(env->lc_ctype) ? env->lc_ctype
	                                             : env->lang;

	return !is_set(locale) || strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
}

#define WIDTH_MIN 40 /* below it lines may wrap: better than words of three letters */

static size_t choose_width(const struct style_env *env)
{
	struct scan text = scan_str(env->columns ? env->columns : "");
	uint64_t columns;

	if (scan_u64(&text, &columns) && scan_at_end(&text) && columns > 0)
		return MAX((size_t)columns, (size_t)WIDTH_MIN);
	if (!env->is_tty)
		return SIZE_MAX; /* a program reads it: nothing is cut */
	return env->tty_width ? MAX(env->tty_width, (size_t)WIDTH_MIN) : 80;
}

struct style style_choose(enum style_choice color, const struct style_env *env)
{
	return (struct style){
		.color = wants_color(color, env),
		.unicode = wants_unicode(env),
		.width = choose_width(env),
	};
}
