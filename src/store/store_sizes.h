/* SPDX-License-Identifier: MIT */
/* store_sizes.h - bytes of the files that a recorder of the machine writes. */
#pragma once

#include <stdint.h>

struct store_sizes {
	uint64_t store; /* the database with its write-ahead log */
	uint64_t wal;
	uint64_t jsonl; /* with the files that were rotated */
};

/* A file that is not there has none, and neither has NULL. A file system that does not answer holds up the caller. */
struct store_sizes store_sizes_measure(const char *db_path, const char *jsonl_path);
