/* SPDX-License-Identifier: MIT */
/* key_values.h - K=V words of a command line as a JSON object. Numbers, true and false become JSON
 * numbers and booleans; everything else becomes a string. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"

bool key_values_is_one(const char *word); /* KEY=anything */
/* Writes the object. -EINVAL: a word is not KEY=VALUE, or a key is repeated; the message names it. */
int key_values_put(struct json *j, char *const *words, size_t n, struct err *err) must_check;
