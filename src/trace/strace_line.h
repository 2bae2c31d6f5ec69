/* SPDX-License-Identifier: MIT */
/* strace_line.h - the lines of `strace -f -ttt -T -e 'raw=!clone3'`, in which arguments are numbers. */
#pragma once

#include "base/scan.h"
#include "model/process.h"

enum strace_line_kind {
	STRACE_LINE_ENTERED = 1 << 0,    /* a call was made */
	STRACE_LINE_LEFT = 1 << 1,       /* … or returned, or both */
	STRACE_LINE_ENDED = 1 << 2,      /* the thread did */
	STRACE_LINE_SUPERSEDED = 1 << 3, /* another thread of its process, `other`, has its tid from now on */
};

struct strace_line {
	unsigned kind; /* 0: about something else */
	pid_t tid, other;
	uint64_t at_ns;   /* wall clock: of the entry, or of the return where that has a line of its own; 0: unknown */
	struct scan name; /* of the call */
	struct scan error; /* "ENOENT"; empty: it has not failed */
	uint64_t result;
	uint64_t ns; /* between entry and return; 0: unknown */
	bool makes_thread; /* on entry: what it makes is a thread, not a process */
};

/* False: it is none of strace's. */
bool strace_line_parse(struct scan line, struct strace_line *ret);
