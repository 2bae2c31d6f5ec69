/* SPDX-License-Identifier: MIT */
/* Points in time: a refused text leaves the result alone, an accepted one lies between 1970 and
 * 2500, and "ago" never leads into the future. */
#include <string.h>

#include "base/clock.h"
#include "base/time_parse.h"
#include "fuzz.h"

#define NOW_NS (UINT64_C(1763215387) * NS_PER_S)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t ns = 42;

	if (!time_parse(scan_mem((const char *)data, size), NOW_NS, &ns)) {
		FUZZ_CHECK(ns == 42);
		return 0;
	}
	FUZZ_CHECK(size >= 2 && ns / NS_PER_S < UINT64_C(16725312000));
	if (size > 4 && memcmp(data + size - 4, " ago", 4) == 0)
		FUZZ_CHECK(ns <= NOW_NS);
	return 0;
}
