/* SPDX-License-Identifier: MIT */
/* users.h - names of users, each asked for once: the user database may be far away. */
#pragma once

#include <stdint.h>

#include "base/map.h"

struct users {
	struct map names; /* uid → owned name, 0: it has none */
};

const char *users_name(void *self, uint32_t uid); /* self is a struct users; NULL: no name */
void users_done(struct users *users);
