/* SPDX-License-Identifier: MIT */
/* tags.h - what a job is marked with: a JSON object of strings, read one tag at a time. */
#pragma once

#include "base/buf.h"
#include "base/scan.h"

#define TAG_TEXT_MAX 1024

/* The next tag of the object, key and value without escapes (both are emptied first; they keep
 * their memory). Begin with all of the text; false at its end, or where it is not what it should
 * be. */
bool tags_next(struct scan *at, struct buf *key, struct buf *value);
