/* SPDX-License-Identifier: MIT */
/* jsonl.h - one line per snapshot, appended to a file that is rotated by size to .1 and .2. Never half a line. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct jsonl;

int  jsonl_open(const char *path, uint64_t max_bytes, struct jsonl **ret, struct err *err) must_check;
void jsonl_close(struct jsonl *j); /* NULL is fine */
DEFINE_CLEANUP(struct jsonl *, jsonl_close)
/* The line comes without its newline. A short write is undone; -ENOSPC when the disk is full. */
int jsonl_put(struct jsonl *j, const char *line, size_t len, struct err *err) must_check;
