/* SPDX-License-Identifier: MIT */
/* style.h - how the output may look: how wide, with colours or not, which characters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct style {
	bool color;
	bool unicode; /* blocks for bars; else # and . */
	size_t width; /* columns; SIZE_MAX: as wide as it gets */
};

/* The environment, as given (NULL: not set). */
struct style_env {
	bool is_tty;
	size_t tty_width; /* 0: not known */
	const char *no_color, *clicolor_force, *term, *columns;
	const char *lc_all, *lc_ctype, *lang;
};

enum style_choice {
	STYLE_AUTO,
	STYLE_ALWAYS,
	STYLE_NEVER,
};

/* --color=auto|always|never; NULL is auto. False: none of these. */
bool style_parse_choice(const char *text, enum style_choice *ret);
struct style style_choose(enum style_choice color, const struct style_env *env);
