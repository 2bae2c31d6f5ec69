/* SPDX-License-Identifier: MIT */
/* /proc/PID/stat: any bytes are refused or understood; the name is always a string, and a refusal
 * leaves the result alone. */
#include <string.h>

#include "fuzz.h"
#include "kernel/process_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process_files_stat st = { .pid = 42 };

	if (!process_files_parse_stat(scan_mem((const char *)data, size), &st)) {
		FUZZ_CHECK(st.pid == 42 && !st.comm[0]);
		return 0;
	}
	FUZZ_CHECK(memchr(st.comm, '\0', sizeof st.comm));
	FUZZ_CHECK(st.pid >= 0 && st.ppid >= 0 && st.state != ' ' && st.state != '\n');
	return 0;
}
