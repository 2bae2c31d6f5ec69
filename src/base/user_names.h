/* SPDX-License-Identifier: MIT */
/* user_names.h - names of users, each looked up once: the user database may be remote. */
#pragma once

#include <stdint.h>

#include "base/map.h"

struct user_names {
	struct map names; /* uid → owned name; 0: it has none */
};

/* `self` is a struct user_names. NULL: the user has no name. */
const char *user_names_name(void *self, uint32_t uid);
void user_names_done(struct user_names *users);
