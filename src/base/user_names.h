/* SPDX-License-Identifier: MIT */
/* user_names.h - names of users, each looked up once: the user database may be remote. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

#define USER_NAME_MAX 64

struct user_names {
	struct map names; /* uid → owned name; 0: it has none */
};

/* `self` is a struct user_names. NULL: the user has no name. */
const char *user_names_name(void *self, uint32_t uid);
void user_names_done(struct user_names *users);
/* The uid that n bytes of text mean, if they are a number. */
bool user_names_parse_number(const char *text, size_t n, uint32_t *ret);
/* … a number or a name. Only a name is looked up, which may take long. False: there is no such user. */
bool user_names_parse(const char *text, size_t n, uint32_t *ret);
