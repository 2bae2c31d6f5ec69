/* SPDX-License-Identifier: MIT */
#include "model/snapshot_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "model/snapshot_json.h"

/* One is the latest, one is built, one is stored. */
#define SPARES_MAX 3
/* A recorder that fell behind needed one more: it is freed when it was left over that often in a row. */
#define SURPLUS_TAKES 16

struct snapshot_pool {
	pthread_mutex_t lock;
	struct pooled *spare[SPARES_MAX];
	size_t spare_len;
	unsigned surplus_takes; /* in a row that left a spare over */
	size_t holders;         /* the owner, and each snapshot that is out */
};

struct pooled {
	struct snapshot snap; /* first: a snapshot's address is its own */
	atomic_uint refs;
	struct snapshot_pool *pool;
	struct snapshot_json_cache *json;
};

static struct pooled *pooled_of(const struct snapshot *snap)
{
	return (struct pooled *)(uintptr_t)snap;
}

struct snapshot_pool *snapshot_pool_new(void)
{
	struct snapshot_pool *pool = xcalloc(1, sizeof *pool);

	pthread_mutex_init(&pool->lock, NULL);
	pool->holders = 1;
	return pool;
}

static void free_pooled(struct pooled *p)
{
	snapshot_json_cache_free(p->json);
	snapshot_done(&p->snap);
	free(p);
}

/* With the lock held, which is gone afterwards. */
static void drop_holder(struct snapshot_pool *pool)
{
	bool is_last = --pool->holders == 0;

	pthread_mutex_unlock(&pool->lock);
	if (!is_last)
		return;
	while (pool->spare_len)
		free_pooled(pool->spare[--pool->spare_len]);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

void snapshot_pool_free(struct snapshot_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	drop_holder(pool);
}

/* With the lock held: one that is to be freed, or NULL. */
static struct pooled *take_surplus(struct snapshot_pool *pool)
{
	pool->surplus_takes = pool->spare_len ? pool->surplus_takes + 1 : 0;
	if (pool->surplus_takes < SURPLUS_TAKES)
		return NULL;
	pool->surplus_takes = 0;
	return pool->spare[--pool->spare_len];
}

struct snapshot *snapshot_pool_take(struct snapshot_pool *pool)
{
	struct pooled *p = NULL, *surplus;

	pthread_mutex_lock(&pool->lock);
	if (pool->spare_len) { /* in turn, so that each returns the memory that a burst needed */
		p = pool->spare[0];
		memmove(pool->spare, pool->spare + 1, --pool->spare_len * sizeof(struct pooled *));
	}
	surplus = take_surplus(pool);
	pool->holders++;
	pthread_mutex_unlock(&pool->lock);
	if (surplus)
		free_pooled(surplus);
	if (!p) {
		p = xcalloc(1, sizeof *p);
		p->json = snapshot_json_cache_new();
	}
	p->pool = pool;
	return &p->snap;
}

const struct snapshot *snapshot_freeze(struct snapshot *take_snap)
{
	struct pooled *p = pooled_of(take_snap);

	snapshot_json_cache_reset(p->json);
	take_snap->json = p->json;
	atomic_store_explicit(&p->refs, 1, memory_order_release);
	return take_snap;
}

const struct snapshot *snapshot_ref(const struct snapshot *snap)
{
	atomic_fetch_add_explicit(&pooled_of(snap)->refs, 1, memory_order_relaxed);
	return snap;
}

void snapshot_unref(const struct snapshot *snap)
{
	struct pooled *p = pooled_of(snap);
	struct snapshot_pool *pool;

	if (!snap || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
		return;
	pool = p->pool;
	pthread_mutex_lock(&pool->lock);
	if (pool->spare_len < SPARES_MAX)
		pool->spare[pool->spare_len++] = TAKE_PTR(p);
	drop_holder(pool);
	if (p)
		free_pooled(p);
}
