/* SPDX-License-Identifier: MIT */
/* quota.h - how much data of one user the daemon stores: a burst, and a steady rate after that. Users
 * share the disk. */
#pragma once

#include <sys/types.h>

#include "base/map.h"

#define QUOTA_BURST_BYTES (8u << 20)
#define QUOTA_BYTES_PER_S (128u << 10)

/* Initialised with zeros. */
struct quota {
	struct map due_ns; /* uid → the time at which its use so far is within the steady rate */
};

/* False: over the quota; nothing was counted. */
bool quota_take(struct quota *q, uid_t uid, size_t bytes, uint64_t now_ns);
void quota_done(struct quota *q);
