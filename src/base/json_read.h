/* SPDX-License-Identifier: MIT */
/* json_read.h - reads JSON text with a bounded cursor: whether it is well formed, and where the
 * members of an object are. Values are decoded only on request. Strict: RFC 8259, valid UTF-8, at
 * most 32 levels. RPC messages are parsed by jansson instead. */
#pragma once

#include "base/buf.h"
#include "base/scan.h"

#define JSON_READ_DEPTH_MAX 32

/* Whether the whole text is one object. */
bool json_read_is_object(struct scan text);
/* The next member of an object, as it is written: the name without its quotes, the value with
 * them. Start with the whole text as `at`; false at the end, or where the text is malformed. */
bool json_read_next(struct scan *at, struct scan *ret_name, struct scan *ret_value);
/* The value of the first member of that name. A name that is written with escapes is not found. */
bool json_read_find(struct scan object, const char *name, struct scan *ret_value);
/* Decodes the inside of a string, without its quotes, as base/json.h writes it, into `to`, which is
 * emptied first. False: half of a surrogate pair, which it does not write, or the text exceeds the ceiling
 * of `to`. */
bool json_read_text(struct scan string, struct buf *to);
/* A number, or a number in quotes; not negative, in thousandths. */
bool json_read_milli(struct scan value, uint64_t *ret_milli);
