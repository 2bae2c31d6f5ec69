/* SPDX-License-Identifier: MIT */
/* verb_list.h - all verbs, in the groups and the order of `proctor --help`. */
#pragma once

#include "cli/cli.h"

struct verb_group {
	const char *title;
	const struct verb *verbs[16]; /* up to NULL */
};
extern const struct verb_group verb_groups[]; /* up to a NULL title */
extern const struct verb *const verb_list[];  /* the same without the groups, up to NULL */

/* Internal ones, too; NULL: there is none. */
const struct verb *verb_find(const char *name);
