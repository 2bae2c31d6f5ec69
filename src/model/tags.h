/* SPDX-License-Identifier: MIT */
/* tags.h - the tags of a job: a JSON object of strings, read one tag at a time. */
#pragma once

#include "base/buf.h"
#include "base/scan.h"

#define TAG_TEXT_MAX 1024

/* The next tag, key and value without escapes (both are emptied first; they keep their memory).
 * Start with the whole text as `at`; false at its end, or where it is malformed. */
bool tags_next(struct scan *at, struct buf *key, struct buf *value);
