/* SPDX-License-Identifier: MIT */
/* Any bytes as a configuration file: nothing is read out of bounds, and what was accepted lies
 * within its range. */
#include "base/clock.h"
#include "config/ini.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_problems problems = { 0 };
	struct config c;

	config_init(&c);
	ini_read(scan_mem((const char *)data, size), "fuzz.conf", &c, &problems);
	FUZZ_CHECK(c.profiler.interval_ns >= NS_PER_S && c.profiler.jsonl_max_bytes >= 1 << 20);
	FUZZ_CHECK(c.profiler.storage_path[0] == '\0' || c.profiler.storage_path[0] == '/');
	FUZZ_CHECK(c.anomaly.spike_factor > 1 && c.anomaly.spike_factor <= 1000);
	FUZZ_CHECK(c.anomaly.runaway_cpu_ratio >= 0.5 && c.anomaly.runaway_cpu_ratio <= 1);
	FUZZ_CHECK(c.correlation.min_sample_size >= 2 && c.limits.max_processes <= 4194304);
	ini_problems_done(&problems);
	return 0;
}
