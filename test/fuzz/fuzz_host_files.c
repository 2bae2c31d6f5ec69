/* SPDX-License-Identifier: MIT */
/* The machine's files, each parser on any bytes: one that understood nothing has set nothing. */
#include "fuzz.h"
#include "kernel/host_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool (*const parsers[])(struct scan, struct host_readings *) = {
		host_files_parse_meminfo,
		host_files_parse_loadavg,
		host_files_parse_stat,
		host_files_parse_pressure_cpu,
		host_files_parse_pressure_memory,
		host_files_parse_pressure_io,
		host_files_parse_diskstats,
		host_files_parse_net_dev,
	};

	for (size_t i = 0; i < ARRAY_LEN(parsers); i++) {
		struct host_readings r = { 0 };
		bool understood = parsers[i](scan_mem((const char *)data, size), &r);

		FUZZ_CHECK(understood == (r.present != 0));
		FUZZ_CHECK(r.present >> HOST_METRIC_COUNT == 0);
	}
	return 0;
}
