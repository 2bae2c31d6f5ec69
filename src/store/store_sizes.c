/* SPDX-License-Identifier: MIT */
#include "store/store_sizes.h"

#include <sys/stat.h>

#include "base/mem.h"

static uint64_t size_of(const char *path, const char *suffix)
{
	cleanup(freep) char *name = path ? xasprintf("%s%s", path, suffix) : NULL;
	struct stat st;

	return name && stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;
}

struct store_sizes store_sizes_measure(const char *db_path, const char *jsonl_path)
{
	uint64_t wal = size_of(db_path, "-wal");

	return (struct store_sizes){
		.store = size_of(db_path, "") + wal,
		.wal = wal,
		.jsonl = size_of(jsonl_path, "") + size_of(jsonl_path, ".1") +
		         size_of(jsonl_path, ".2"),
	};
}
