/* SPDX-License-Identifier: MIT */
/* user_names.h - names of users, each looked up once: the user database may be remote. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct user_names {
	struct map names; /* uid → owned name; 0: it has none */
};

/* `self` is a struct user_names. NULL: the user has no name. */
const char *user_names_name(void *self, uint32_t uid);
void user_names_done(struct user_names *users);
/* The uid that n bytes of text mean, a number or a name. Only a name is looked up. False: there is no
 * such user. */
bool user_names_parse(const char *text, size_t n, uint32_t *ret);
