/* SPDX-License-Identifier: MIT */
/* Datagrams of the proc connector: any bytes are refused or give an event whose name is a
 * string. */
#include <string.h>

#include "fuzz.h"
#include "probe/cnproc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cnproc_event ev = { .pid = 42 };

	if (!cnproc_parse(data, size, &ev)) {
		FUZZ_CHECK(ev.pid == 42);
		return 0;
	}
	FUZZ_CHECK(ev.kind <= CNPROC_OTHER);
	FUZZ_CHECK(memchr(ev.comm, '\0', sizeof ev.comm));
	return 0;
}
