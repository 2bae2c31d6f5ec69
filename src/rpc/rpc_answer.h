/* SPDX-License-Identifier: MIT */
/* rpc_answer.h - the members of an answer, by name. A member that is absent, null or of another type
 * is NULL, NAN, 0 or false, because the server may be older or newer than the client. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

const char *rpc_answer_text(const json_t *answer, const char *name);
double rpc_answer_number(const json_t *answer, const char *name);
uint64_t rpc_answer_u64(const json_t *answer, const char *name);
uint64_t rpc_answer_ns(const json_t *answer, const char *name); /* from seconds */
bool rpc_answer_is(const json_t *answer, const char *name);
