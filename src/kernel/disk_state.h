/* SPDX-License-Identifier: MIT */
/* disk_state.h - whether file systems have room left: queried in a thread of its own, because a
 * dead server never answers. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define DISK_PLACES_MAX 12

struct disk_place {
	char path[PATH_MAX]; /* asked for by name; "": by the descriptor */
	int fd;
	bool may_be_new; /* if there is no such file, the directory that it would be in is asked for */
	/* Results. */
	bool is_known, is_read_only;
	bool is_missing, is_directory; /* the file that was asked for; */
	uint64_t modified_ns;          /* … wall clock */
	uint64_t total_bytes; /* 0: it holds no data, as /proc */
	uint64_t free_bytes;  /* for the caller: what is reserved for root counts only for root */
	uint64_t free_inodes; /* UINT64_MAX: the file system does not count them */
	uint64_t total_inodes;
};

/* Fills in what is found within that time; of two places on one file system only the first. */
void disk_state_read(struct disk_place *places, unsigned n, uint64_t patience_ns);
