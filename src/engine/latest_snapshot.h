/* SPDX-License-Identifier: MIT */
/* latest_snapshot.h - a sink that keeps the snapshot of the latest tick, for clients. A zeroed one is empty. */
#pragma once

#include "model/snapshot.h"

struct latest_snapshot {
	const struct snapshot *snap; /* NULL: there was none yet */
};

void latest_snapshot_take(void *self, const struct snapshot *snap); /* a sink's */
void latest_snapshot_done(struct latest_snapshot *latest);
