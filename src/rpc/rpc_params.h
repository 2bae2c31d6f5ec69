/* SPDX-License-Identifier: MIT */
/* rpc_params.h - the named parameters of a call, each with its bounds. Absent and null are the same
 * and leave the result unchanged; for a wrong value -EINVAL is returned and the message names the
 * parameter. Unknown parameters are ignored: newer clients may send them. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

bool rpc_params_has(const json_t *params, const char *name);
int rpc_params_u64(const json_t *params, const char *name, uint64_t min, uint64_t max,
                   uint64_t *ret, struct err *err) must_check;
/* A string of 1 to `max` bytes, borrowed from params. */
int rpc_params_text(const json_t *params, const char *name, size_t max, const char **ret,
                    struct err *err) must_check;
/* Seconds, not negative; returned in ns. */
int rpc_params_seconds(const json_t *params, const char *name, uint64_t *ret_ns, struct err *err)
	must_check;
int rpc_params_bool(const json_t *params, const char *name, bool *ret, struct err *err) must_check;
/* Seconds since 1970; returned in ns. */
int rpc_params_time(const json_t *params, const char *name, uint64_t *ret_ns, struct err *err)
	must_check;
/* An object, as compact JSON text of at most `max` bytes; owned by the caller. */
int rpc_params_object_text(const json_t *params, const char *name, size_t max, char **ret,
                           struct err *err) must_check;
