/* SPDX-License-Identifier: MIT */
#include "engine/latest_snapshot.h"

#include "model/snapshot_pool.h"

void latest_snapshot_take(void *self, const struct snapshot *snap)
{
	struct latest_snapshot *latest = self;

	snapshot_unref(latest->snap);
	latest->snap = snapshot_ref(snap);
}

void latest_snapshot_done(struct latest_snapshot *latest)
{
	snapshot_unref(latest->snap);
	latest->snap = NULL;
}
