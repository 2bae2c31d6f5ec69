/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include "check.h"

static void test_map__agrees_with_an_array_under_random_puts_and_deletes(void **state)
{
	static int64_t truth[500];
	struct map m = { 0 };
	uint64_t seed = 1, value;
	size_t len = 0;

	(void)state;
	memset(truth, -1, sizeof truth);
	for (int step = 0; step < 50000; step++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		size_t key = (size_t)(seed >> 33) % ARRAY_LEN(truth);

		if (seed >> 63) {
			map_put(&m, key << 42, (uint64_t)step);
			truth[key] = step;
		} else {
			assert_true(map_del(&m, key << 42) == (truth[key] >= 0));
			truth[key] = -1;
		}
	}
	for (size_t key = 0; key < ARRAY_LEN(truth); key++) {
		assert_true(map_get(&m, key << 42, &value) == (truth[key] >= 0));
		if (truth[key] >= 0) {
			assert_true((int64_t)value == truth[key]);
			len++;
		}
	}
	assert_int_equal(m.len, len);
	map_done(&m);
}

static void test_map_next__visits_each_entry_once(void **state)
{
	struct map m = { 0 };
	struct map_slot slot;
	uint64_t sum = 0;
	size_t it = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		map_put(&m, i, i);
	while (map_next(&m, &it, &slot))
		sum += slot.value;
	assert_int_equal(sum, 999 * 1000 / 2);
	map_done(&m);
}

static void test_map_shrink__frees_a_spike_and_keeps_the_entries(void **state)
{
	struct map m = { 0 };
	uint64_t value;

	map_shrink(&m);
	for (uint64_t i = 0; i < 20000; i++)
		map_put(&m, i << 40, i);
	for (uint64_t i = 0; i < 20000; i++)
		if (i % 50)
			assert_true(map_del(&m, i << 40));
	map_shrink(&m);
	assert_true(m.cap <= 2048);
	assert_int_equal(m.len, 400);
	for (uint64_t i = 0; i < 20000; i++)
		assert_true(map_get(&m, i << 40, &value) == (i % 50 == 0));
	for (uint64_t i = 0; i < 20000; i++)
		map_put(&m, i << 40, i + 1);
	assert_true(map_get(&m, UINT64_C(19999) << 40, &value) && value == 20000);
	map_done(&m);
}

static void test_map_shrink__keeps_memory_that_is_used_or_small(void **state)
{
	struct map m = { 0 };
	size_t cap;

	map_put(&m, 1, 1);
	cap = m.cap;
	map_shrink(&m);
	assert_int_equal(m.cap, cap);
	for (uint64_t i = 0; i < 3000; i++)
		map_put(&m, i, i);
	cap = m.cap;
	map_shrink(&m);
	assert_int_equal(m.cap, cap);
	map_done(&m);
}

RUN_TESTS(TEST(test_map__agrees_with_an_array_under_random_puts_and_deletes),
          TEST(test_map_next__visits_each_entry_once),
          TEST(test_map_shrink__frees_a_spike_and_keeps_the_entries),
          TEST(test_map_shrink__keeps_memory_that_is_used_or_small))
