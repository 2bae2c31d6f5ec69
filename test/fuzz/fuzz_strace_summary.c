/* SPDX-License-Identifier: MIT */
/* The table of strace -c. */
#include <string.h>

#include "fuzz.h"
#include "trace/strace_summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct syscall_record calls[16];
	size_t n = strace_summary_parse(scan_mem((const char *)data, size), calls, 16);

	FUZZ_CHECK(n <= 16);
	for (size_t i = 0; i < n; i++) {
		size_t len = strnlen(calls[i].name, sizeof calls[i].name);

		FUZZ_CHECK(len > 0 && len < sizeof calls[i].name);
		FUZZ_CHECK(!(calls[i].time_ratio < 0 || calls[i].time_ratio > 1.000001));
	}
	return 0;
}
