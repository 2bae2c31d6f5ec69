/* SPDX-License-Identifier: MIT */
/* quota.h - how much a user may have us store in a while: what he says of his jobs lands on a disk
 * that others need, too. Some in a burst, and a little all the time. */
#pragma once

#include <sys/types.h>

#include "base/map.h"

#define QUOTA_BURST_BYTES (8u << 20)
#define QUOTA_BYTES_PER_S (128u << 10)

/* Zeroed is fresh. */
struct quota {
	struct map due_ns; /* uid → when all that he had so far is made up for */
};

/* False: it is too much now, and was not taken. */
bool quota_take(struct quota *r, uid_t uid, size_t bytes, uint64_t now_ns);
void quota_done(struct quota *r);
