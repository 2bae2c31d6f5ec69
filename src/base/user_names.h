/* SPDX-License-Identifier: MIT */
/* user_names.h - names of users, each asked for once: the user database may be far away. */
#pragma once

#include <stdint.h>

#include "base/map.h"

struct user_names {
	struct map names; /* uid → owned name, 0: it has none */
};

const char *user_names_name(void *self,
                            uint32_t uid); /* self is a struct user_names; NULL: no name */
void user_names_done(struct user_names *users);
