/* SPDX-License-Identifier: MIT */
/* recent.h - the last process events, ready to be sent. */
#pragma once

#include "base/json.h"
#include "model/snapshot.h"

#define RECENT_MAX 200

/* A ring of JSON texts. Zeroed is empty. */
struct recent {
	struct buf *at; /* RECENT_MAX of them; NULL before the first */
	uint64_t count; /* events ever kept; the last one is in slot (count - 1) % RECENT_MAX */
};

void recent_note(struct recent *r, const struct snapshot *snap);
/* The last `limit` as an array, oldest first. */
void recent_put(const struct recent *r, size_t limit, struct json *j);
void recent_done(struct recent *r);
