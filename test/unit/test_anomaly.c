/* SPDX-License-Identifier: MIT */
#include "model/anomaly.h"

#include "check.h"

#define MIB (1 << 20)

static void test_anomaly_rules__is_described_in_a_few_words(void **state)
{
	static const struct {
		struct anomaly a;
		const char *text;
	} rows[] = {
		{ { .kind = ANOMALY_MEMORY_SPIKE,
		    .id = { 2417, 1 },
		    .comm = "python",
		    .base = 2150.4 * MIB,
		    .peak = 4710.4 * MIB,
		    .peak_boot_ns = 24 * NS_PER_S },
		  "memory spike: python 2417 2.1 → 4.6 GiB in 24 s" },
		{ { .kind = ANOMALY_MEMORY_SPIKE,
		    .id = { 7, 1 },
		    .comm = "a",
		    .base = 80.04 * MIB,
		    .peak = 300.0 * MIB,
		    .peak_boot_ns = 1500 * NS_PER_MS },
		  "memory spike: a 7 80.0 → 300 MiB in 1.5 s" },
		{ { .kind = ANOMALY_RUNAWAY_PROCESS,
		    .id = { 8, 1 },
		    .comm = "yes",
		    .peak = 0.994,
		    .seen_boot_ns = 250 * NS_PER_S },
		  "runaway process: yes 8 at 99 % of a core for 4 min, its parent is gone" },
		{ { .kind = ANOMALY_ZOMBIE, .id = { 9, 1 }, .comm = "sh", .peak = 5.2e9 },
		  "zombie: sh 9 not reaped for 5.2 s" },
		{ { .kind = ANOMALY_FD_EXHAUSTION,
		    .id = { 9, 1 },
		    .comm = "fifteen_letters",
		    .peak = 58,
		    .base = 64 },
		  "open files: fifteen_letters 9 58 of the 64 it may open" },
		{ { .kind = ANOMALY_MEMORY_PRESSURE, .peak = 921.6 * MIB, .base = 16384.0 * MIB },
		  "memory pressure: 0.9 of 16.0 GiB available" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf text = { 0 };

		anomaly_describe(&rows[i].a, &text);
		assert_string_equal(text.at, rows[i].text);
		buf_done(&text);
	}
}

static void test_anomaly_rules__values_are_shown_in_the_units_of_their_kind(void **state)
{
	assert_true(anomaly_shown(ANOMALY_MEMORY_SPIKE, 3.0 * MIB) == 3);
	assert_true(anomaly_shown(ANOMALY_RUNAWAY_PROCESS, 0.5) == 50);
	assert_true(anomaly_shown(ANOMALY_ZOMBIE, 4e9) == 4);
	assert_true(anomaly_shown(ANOMALY_FD_EXHAUSTION, 58) == 58);
}

RUN_TESTS(TEST(test_anomaly_rules__is_described_in_a_few_words),
          TEST(test_anomaly_rules__values_are_shown_in_the_units_of_their_kind))
