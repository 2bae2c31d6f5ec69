/* SPDX-License-Identifier: MIT */
/* What strace prints besides the trace. */
#include "fuzz.h"
#include "trace/strace_keeper.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan line = scan_mem((const char *)data, size);

	FUZZ_CHECK(!strace_message_is_attached(line, 4711) || strace_message_is_notice(line));
	return 0;
}
