/* SPDX-License-Identifier: MIT */
/* jsonl.h - one line per snapshot, appended to a file that is rotated by size to .1 and .2.
 * Never half a line: a line is one write, a short one is undone, and what a crash left without
 * its newline is cut off at the next opening. The file may be rotated, truncated or removed by
 * others at any time, and written by other recorders too. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct jsonl;

int jsonl_open(const char *path, uint64_t max_bytes, struct jsonl **ret, struct err *err)
	must_check;
void jsonl_close(struct jsonl *j); /* NULL is fine */
DEFINE_CLEANUP(struct jsonl *, jsonl_close)
/* The line comes without its newline. Nothing is written on failure: -ENOSPC when the disk is
 * full. */
int jsonl_put(struct jsonl *j, const char *line, size_t len, struct err *err) must_check;
