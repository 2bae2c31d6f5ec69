/* SPDX-License-Identifier: MIT */
/* answer.h - members of an answer, by their names. What is absent, null or of another kind is NULL,
 * NAN, 0 or false: who serves may be older or newer than we are. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

const char *answer_text(const json_t *answer, const char *name);
double answer_number(const json_t *answer, const char *name);
uint64_t answer_u64(const json_t *answer, const char *name);
uint64_t answer_ns(const json_t *answer, const char *name); /* of seconds */
bool answer_is(const json_t *answer, const char *name);
/* All of it, as it came; NULL is null. */
void answer_put(struct json *j, const json_t *answer);
