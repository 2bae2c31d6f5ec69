/* SPDX-License-Identifier: MIT */
/* snapshot_pool.h - frozen snapshots and their memory. A snapshot is built by one thread, frozen, and
 * from then on shared: const, counted, never copied. The last release returns it to its pool.
 *
 *	struct snapshot *snap = snapshot_pool_take(pool);
 *	snapshot_build(prev, cur, jobs, &origin, snap);
 *	const struct snapshot *frozen = snapshot_freeze(snap);
 *	snapshot_ref(frozen);        // each holder
 *	snapshot_unref(frozen);      // from any thread */
#pragma once

#include "model/snapshot.h"

struct snapshot_pool;

struct snapshot_pool *snapshot_pool_new(void);
/* Snapshots that are still held stay good; the last of them frees the pool. NULL is fine. */
void snapshot_pool_free(struct snapshot_pool *pool);

/* One to build into, perhaps used before. */
struct snapshot *snapshot_pool_take(struct snapshot_pool *pool) must_check;
/* No one changes it any more. The reference is the caller's. */
const struct snapshot *snapshot_freeze(struct snapshot *take_snap) must_check;
const struct snapshot *snapshot_ref(const struct snapshot *snap);
void snapshot_unref(const struct snapshot *snap); /* NULL is fine */
DEFINE_CLEANUP(const struct snapshot *, snapshot_unref)
