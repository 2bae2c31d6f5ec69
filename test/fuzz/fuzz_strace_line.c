/* SPDX-License-Identifier: MIT */
/* Lines of strace, and their sums. */
#include "fuzz.h"
#include "trace/strace_tally.h"

static void add_up(void *self, pid_t pid, const struct syscall_count *c)
{
	uint64_t *counted = self;

	(void)pid;
	*counted += c->error ? 0 : c->count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan text = scan_mem((const char *)data, size), line;
	struct strace_tally t = { 0 };
	uint64_t calls = 0, counted = 0;

	strace_tally_add(&t, 7, true);
	while (scan_line(&text, &line)) {
		struct strace_line l;

		strace_tally_peek(&t, line);
		strace_tally_line(&t, line);
		if (!strace_line_parse(line, &l))
			continue;
		FUZZ_CHECK(!(l.kind & (STRACE_LINE_ENTERED | STRACE_LINE_LEFT)) ||
		           l.name.p < l.name.end);
		calls += l.kind & (STRACE_LINE_ENTERED | STRACE_LINE_LEFT) ? 1 : 0;
	}
	strace_tally_take(&t, UINT64_MAX, add_up, &counted);
	strace_tally_end(&t);
	strace_tally_take(&t, 0, add_up, &counted);
	FUZZ_CHECK(counted <= calls);
	FUZZ_CHECK(t.by_tid.len == t.threads.len);
	strace_tally_done(&t);
	return 0;
}
