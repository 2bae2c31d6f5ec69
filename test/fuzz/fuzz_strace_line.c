/* SPDX-License-Identifier: MIT */
/* Lines of strace, and their sums. */
#include <string.h>

#include "fuzz.h"
#include "trace/strace_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan text = scan_mem((const char *)data, size), line;
	struct strace_counts c = { 0 };
	uint64_t entered = 0, counted = 0;

	while (scan_line(&text, &line)) {
		struct strace_line l;

		if (!strace_line_parse(line, &l))
			continue;
		FUZZ_CHECK(!l.kind || l.name.p < l.name.end);
		entered += l.kind & STRACE_LINE_ENTERED ? 1 : 0;
		strace_counts_add(&c, &l);
	}
	strace_counts_finish(&c);
	vec_each(&c.list, call) {
		size_t len = strnlen(call->name, sizeof call->name);

		FUZZ_CHECK(len > 0 && len < sizeof call->name);
		counted += call->count;
	}
	FUZZ_CHECK(counted <= entered);
	strace_counts_done(&c);
	return 0;
}
