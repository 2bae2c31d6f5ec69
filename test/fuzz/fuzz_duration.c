/* SPDX-License-Identifier: MIT */
/* Durations as identities write them: a refused one leaves the result alone, an accepted one starts
 * with a digit or a point and has only characters that a duration can have. */
#include <string.h>

#include "base/clock.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t ns = 42;

	if (!clock_parse_duration(scan_mem((const char *)data, size), &ns)) {
		FUZZ_CHECK(ns == 42);
		return 0;
	}
	FUZZ_CHECK(size > 0);
	for (size_t i = 0; i < size; i++)
		FUZZ_CHECK(data[i] && strchr("0123456789. \tsmhd:-", data[i]));
	return 0;
}
