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

RUN_TESTS(TEST(test_map__agrees_with_an_array_under_random_puts_and_deletes),
          TEST(test_map_next__visits_each_entry_once))
