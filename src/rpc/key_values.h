/* SPDX-License-Identifier: MIT */
/* key_values.h - K=V words, as identities write them on a command line, as a JSON object: numbers, true and
 * false as what they are, everything else as text. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"

bool key_values_is_one(const char *word); /* a key, '=', anything */
/* The whole object. -EINVAL: a word is no pair, or its key was there before; the message names it.
 */
int key_values_put(struct json *j, char *const *words, size_t n, struct err *err) must_check;
/* One value by the same rules. */
void key_values_put_value(struct json *j, const char *text);
