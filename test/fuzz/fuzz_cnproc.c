/* SPDX-License-Identifier: MIT */
/* Datagrams of the proc connector: any bytes are refused or give an event whose name is a
 * string. */
#include <string.h>

#include "fuzz.h"
#include "probe/lifecycle/connector_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct connector_message_event ev = { .pid = 42 };

	if (!connector_message_parse(data, size, &ev)) {
		FUZZ_CHECK(ev.pid == 42);
		return 0;
	}
	FUZZ_CHECK(ev.kind <= CONNECTOR_MESSAGE_OTHER);
	FUZZ_CHECK(memchr(ev.comm, '\0', sizeof ev.comm));
	return 0;
}
