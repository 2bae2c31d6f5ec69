/* SPDX-License-Identifier: MIT */
/* json_error.h - jansson's parse errors as messages for clients, without jansson's own vocabulary. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/scan.h"

/* -ERANGE: a number that we cannot represent; -ENOTUNIQ: a duplicate key; -EBADMSG: everything
 * else. */
int json_error_set(struct scan text, const json_error_t *why, struct err *err);
/* The id of a request that was refused with -ERANGE or -EBADMSG, if the text is well formed and the
 * id is a string or a number; else NULL. The caller owns the reference. */
json_t *json_error_id(struct scan text);
