/* SPDX-License-Identifier: MIT */
/* json_read.h - walks over JSON text with a bounded cursor: whether it is well formed, and where the
 * members of an object stand. Nothing is decoded, nothing allocated. Strict: RFC 8259, UTF-8, no
 * more than 32 levels. */
#pragma once

#include "base/scan.h"

#define JSON_READ_DEPTH_MAX 32

/* Whether all of the text is one object. */
bool json_read_is_object(struct scan text);
/* The value of the first member of that name, at the top of a well-formed object. A name that is
 * written with escapes is not found. */
bool json_read_find(struct scan object, const char *name, struct scan *ret_value);
/* A number, or a number in quotes; not negative, in thousandths. */
bool json_read_milli(struct scan value, uint64_t *ret_milli);
