/* SPDX-License-Identifier: MIT */
/* hang_proof.h - reads that may never return. A command line and smaps_rollup need the lock of the
 * process's address space, and any user can have it held for ever by a file system that does not
 * answer. So a thread does the reading, and when it takes longer than our patience it is left
 * behind, and another goes on with the next file. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/defs.h"

#define HANG_PROOF_BATCH 16
#define HANG_PROOF_BYTES 4096 /* of each file */

struct hang_proof;

struct hang_proof_file {
	char path[32];   /* relative to the directory */
	uint32_t offset; /* where to begin */
	ssize_t len;     /* bytes read, or -errno: -ETIMEDOUT, -EBUSY when too many threads are left
	                    behind already */
	const char *bytes; /* valid until the next call */
	uint64_t cpu_ns;   /* what reading it took the thread; 0 for one that hangs */
};

/* The directory stays the caller's. No thread is started before the first read. */
struct hang_proof *hang_proof_new(int dir_fd, unsigned patience_ms);
void hang_proof_free(struct hang_proof *p); /* NULL is fine; what hangs is left behind */
/* At most HANG_PROOF_BATCH files, in their order. */
void hang_proof_read(struct hang_proof *p, struct hang_proof_file *files, size_t n);
