/* SPDX-License-Identifier: MIT */
/* opts.h - GNU-style options from a table: --name value, --name=value, -n value, -nvalue, and joined
 * flags. An error names the option and gives a hint. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/scan.h"

enum opt_kind {
	OPT_FLAG,      /* bool */
	OPT_TEXT,      /* const char * */
	OPT_PATH,      /* const char *, not empty */
	OPT_DURATION,  /* uint64_t ns: 90, 0.5s, 1h30m, 1:30:00, as clock_parse_duration() */
	OPT_U64,       /* uint64_t */
	OPT_U64_MAYBE, /* uint64_t: --name=N, or OPT_NO_VALUE for --name alone */
	OPT_SIZE,      /* uint64_t bytes: 500M, 8G, powers of 1024; 0, or OPT_SIZE_MIN and more */
	OPT_MILLI,     /* uint64_t thousandths: 2, 0.5 */
	OPT_LIST,      /* struct opt_list: may be repeated */
};

/* "512", "500M", "1.5G", optionally followed by "B" or "iB". The whole text must match. */
bool opts_parse_size(struct scan text, uint64_t *ret);

#define OPT_SIZE_MIN (UINT64_C(1) << 20)
#define OPT_NO_VALUE (UINT64_MAX - 1)
#define OPT_LIST_MAX 64
struct opt_list {
	size_t len;
	const char *at[OPT_LIST_MAX];
};

struct opt {
	const char *name; /* without "--" */
	char letter;
	enum opt_kind kind;
	void *to;
	const char *value; /* its placeholder in the help text */
	const char *help;
	const char *choices; /* all values there are, separated by blanks; NULL: others, too */
};

/* Parses argv[1…] up to the first word that is not an option, or past "--". Returns the index of
 * the first word left, or -EINVAL with a message that names the option. `opts` ends with a NULL
 * name. *ret_ended: options ended with "--", which was not the value of one. */
int opts_parse(const struct opt *opts, int argc, char **argv, bool *ret_ended, struct err *err)
	must_check;
