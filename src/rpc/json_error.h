/* SPDX-License-Identifier: MIT */
/* json_error.h - what is wrong with a text that jansson would not read, in words that do not name
 * its functions and options. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/scan.h"

/* -ERANGE: JSON, with a number that we cannot hold; -ENOTUNIQ: a key twice in one object; -EBADMSG:
 * everything else. */
int json_error_set(struct scan text, const json_error_t *why, struct err *err);
/* The id of a request that was refused for -ERANGE or -EBADMSG, if it can be known all the same:
 * the text is well formed, and the id a text or a number. NULL: not known. The caller's to
 * json_decref(). */
json_t *json_error_id(struct scan text);
