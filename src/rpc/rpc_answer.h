/* SPDX-License-Identifier: MIT */
/* rpc_answer.h - members of an answer, by their names. What is absent, null or of another kind is NULL,
 * NAN, 0 or false: who serves may be older or newer than we are. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

const char *rpc_answer_text(const json_t *answer, const char *name);
double rpc_answer_number(const json_t *answer, const char *name);
uint64_t rpc_answer_u64(const json_t *answer, const char *name);
uint64_t rpc_answer_ns(const json_t *answer, const char *name); /* of seconds */
bool rpc_answer_is(const json_t *answer, const char *name);
/* All of it, as it came; NULL is null. */
void rpc_answer_put(struct json *j, const json_t *answer);
