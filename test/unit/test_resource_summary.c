/* SPDX-License-Identifier: MIT */
#include "model/resource_summary.h"

#include "check.h"

static void assert_json(const struct resource_summary *s, const char *wanted)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	json_begin_object(&j);
	resource_summary_put(&j, s);
	json_end_object(&j);
	assert_string_equal(out.at, wanted);
	buf_done(&out);
}

static void test_resource_summary__omits_unknown_keys(void **state)
{
	struct resource_summary s = { 0 };
	uint64_t tenths = 7;

	assert_json(&s, "{}");
	assert_false(resource_summary_get(&s, RESOURCE_KEY_PEAK_VRAM, &tenths));
	assert_int_equal(tenths, 7);
	resource_summary_add(&s, RESOURCE_CPU_USR_PCT, 0);
	assert_json(&s, "{\"cpu_usr_mean_pct\":0.0}");
}

static void test_resource_summary__has_all_keys_in_order(void **state)
{
	struct resource_summary s = { 0 };

	for (enum resource_series i = 0; i < RESOURCE_SERIES_COUNT; i++) {
		resource_summary_add(&s, i, (i + 1) * 1000);
		resource_summary_add(&s, i, (i + 3) * 1000);
	}
	assert_json(&s, "{\"peak_vram_mb\":3.0,\"gpu_util_mean_pct\":3.0,\"gpu_util_max_pct\":4.0,"
	                "\"mem_util_mean_pct\":4.0,\"mem_util_max_pct\":5.0,"
	                "\"power_watts_mean\":5.0,\"power_watts_max\":6.0,"
	                "\"cpu_usr_mean_pct\":6.0,\"cpu_idle_mean_pct\":7.0,"
	                "\"jax_peak_bytes_mb\":9.0}");
}

static void test_resource_summary__rounds_to_one_decimal(void **state)
{
	static const struct {
		uint64_t milli[3], mean_tenths, max_tenths;
	} cases[] = {
		{ { 1000, 1000, 1001 }, 10, 10 }, /* 1.0003 */
		{ { 50, 50, 50 }, 1, 1 },         /* 0.05 */
		{ { 49, 49, 49 }, 0, 0 },
		{ { 100000, 0, 0 }, 333, 1000 }, /* 33.33 */
		{ { 99949, 99949, 99950 }, 999, 1000 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct resource_summary s = { 0 };
		uint64_t mean, max;

		for (size_t k = 0; k < 3; k++)
			resource_summary_add(&s, RESOURCE_POWER_WATTS, cases[i].milli[k]);
		assert_true(resource_summary_get(&s, RESOURCE_KEY_POWER_MEAN, &mean));
		assert_true(resource_summary_get(&s, RESOURCE_KEY_POWER_MAX, &max));
		assert_int_equal(mean, cases[i].mean_tenths);
		assert_int_equal(max, cases[i].max_tenths);
	}
}

static void test_resource_summary_add__does_not_wrap(void **state)
{
	struct resource_summary s = { 0 };
	uint64_t tenths;

	resource_summary_add(&s, RESOURCE_VRAM_MB, UINT64_MAX - 5);
	resource_summary_add(&s, RESOURCE_VRAM_MB, 1000);
	assert_int_equal(s.series[RESOURCE_VRAM_MB].n, 1);
	assert_true(resource_summary_get(&s, RESOURCE_KEY_PEAK_VRAM, &tenths));
	assert_int_equal(tenths, UINT64_MAX / 100);
}

static void test_resource_summary_fill__copies_only_missing_series(void **state)
{
	struct resource_summary a = { 0 }, b = { 0 };

	resource_summary_add(&a, RESOURCE_GPU_UTIL_PCT, 10000);
	resource_summary_add(&b, RESOURCE_GPU_UTIL_PCT, 90000);
	resource_summary_add(&b, RESOURCE_VRAM_MB, 5000);
	resource_summary_fill(&a, &b);
	assert_json(&a,
	            "{\"peak_vram_mb\":5.0,\"gpu_util_mean_pct\":10.0,\"gpu_util_max_pct\":10.0}");
}

RUN_TESTS(TEST(test_resource_summary__omits_unknown_keys),
          TEST(test_resource_summary__has_all_keys_in_order),
          TEST(test_resource_summary__rounds_to_one_decimal),
          TEST(test_resource_summary_add__does_not_wrap),
          TEST(test_resource_summary_fill__copies_only_missing_series))
