/* SPDX-License-Identifier: MIT */
#include "model/snapshot_pool.h"

#include <pthread.h>

#include "check.h"

static void test_snapshot_pool__uses_memory_again_after_the_last_release(void **state)
{
	struct snapshot_pool *pool = snapshot_pool_new();
	struct snapshot *built = snapshot_pool_take(pool);
	const struct snapshot *frozen = snapshot_freeze(built);
	struct snapshot *other;

	(void)state;
	snapshot_ref(frozen);
	snapshot_unref(frozen);
	other = snapshot_pool_take(pool);
	assert_ptr_not_equal(other, built); /* it is still held */
	snapshot_unref(frozen);
	assert_ptr_equal(snapshot_pool_take(pool), built);
	snapshot_unref(snapshot_freeze(other));
	snapshot_unref(snapshot_freeze(built));
	snapshot_pool_free(pool);
}

static void test_snapshot_pool__frees_what_only_a_recorder_that_fell_behind_needed(void **state)
{
	struct snapshot_pool *pool = snapshot_pool_new();
	struct snapshot *built[3], *one;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(built); i++)
		built[i] = snapshot_pool_take(pool);
	for (size_t i = 0; i < ARRAY_LEN(built); i++)
		snapshot_unref(snapshot_freeze(built[i]));
	for (size_t i = 0; i < 100; i++)
		snapshot_unref(snapshot_freeze(snapshot_pool_take(pool)));
	one = snapshot_pool_take(pool);
	snapshot_unref(snapshot_freeze(one));
	assert_ptr_equal(snapshot_pool_take(pool), one); /* in turn: there is no other */
	snapshot_unref(snapshot_freeze(one));
	snapshot_pool_free(pool);
}

static void test_snapshot_pool__a_held_snapshot_outlives_the_pool_s_owner(void **state)
{
	struct snapshot_pool *pool = snapshot_pool_new();
	struct snapshot *built = snapshot_pool_take(pool);
	const struct snapshot *frozen;

	(void)state;
	snapshot_reset(built);
	built->seq = 7;
	frozen = snapshot_freeze(built);
	snapshot_pool_free(pool);
	assert_int_equal(frozen->seq, 7);
	snapshot_unref(frozen);
}

#define THREADS 4
#define ROUNDS 20000

static void *share(void *self)
{
	const struct snapshot *snap = self;

	for (int i = 0; i < ROUNDS; i++)
		snapshot_unref(snapshot_ref(snap));
	snapshot_unref(snap);
	return NULL;
}

static void test_snapshot_pool__references_are_counted_across_threads(void **state)
{
	struct snapshot_pool *pool = snapshot_pool_new();
	struct snapshot *built = snapshot_pool_take(pool);
	const struct snapshot *frozen = snapshot_freeze(built);
	pthread_t threads[THREADS];

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, share,
		                                (void *)(uintptr_t)snapshot_ref(frozen)),
		                 0);
	snapshot_unref(frozen);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_ptr_equal(snapshot_pool_take(pool), built);
	snapshot_unref(snapshot_freeze(built));
	snapshot_pool_free(pool);
}

RUN_TESTS(TEST(test_snapshot_pool__uses_memory_again_after_the_last_release),
          TEST(test_snapshot_pool__frees_what_only_a_recorder_that_fell_behind_needed),
          TEST(test_snapshot_pool__a_held_snapshot_outlives_the_pool_s_owner),
          TEST(test_snapshot_pool__references_are_counted_across_threads))
