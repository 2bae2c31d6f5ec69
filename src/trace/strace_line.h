/* SPDX-License-Identifier: MIT */
/* strace_line.h - the lines of `strace -f -T -e raw=all`, in which arguments are numbers, and what they add up to:
 * how often each call was made, how long it took, how often it failed. */
#pragma once

#include "base/scan.h"
#include "model/syscall.h"

enum strace_line_kind {
	STRACE_LINE_ENTERED = 1 << 0, /* a call was made */
	STRACE_LINE_LEFT = 1 << 1,    /* … or returned, or both */
};

struct strace_line {
	unsigned kind; /* 0: about something else */
	struct scan name;
	bool has_failed;
	uint64_t ns; /* between entry and return; 0: unknown */
};

/* False: it is none of strace's. */
bool strace_line_parse(struct scan line, struct strace_line *ret);

struct strace_counts {
	VEC(struct syscall_record) list;
};

void strace_counts_add(struct strace_counts *c, const struct strace_line *line);
/* Puts those first that took most time, with their shares of it. */
void strace_counts_finish(struct strace_counts *c);
void strace_counts_done(struct strace_counts *c);
