/* SPDX-License-Identifier: MIT */
/* Files of control groups on any bytes: a refusal leaves the result alone, and no limit is near
 * 2^63. */
#include "fuzz.h"
#include "kernel/cgroup_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan text = scan_mem((const char *)data, size);
	uint64_t number = 42, keyed = 42, limit = 42, milli = 42;

	FUZZ_CHECK(cgroup_parse_number(text, NULL, &number) || number == 42);
	FUZZ_CHECK(cgroup_parse_number(text, "oom_kill", &keyed) || keyed == 42);
	FUZZ_CHECK(cgroup_parse_limit(text, &limit) ? limit < UINT64_C(1) << 62 : limit == 42);
	FUZZ_CHECK(cgroup_parse_cpu_max(text, &milli) || milli == 42);
	return 0;
}
