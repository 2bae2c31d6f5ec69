/* SPDX-License-Identifier: MIT */
/* strace_reader.h - the pipe through which the lines of strace come, and their tally. */
#pragma once

#include "base/err.h"
#include "trace/strace_tally.h"

#define STRACE_READER_BYTES 65536

struct strace_reader {
	/* Its writing end stays open here as well, so that `fd` is readable only when there are lines. */
	int fd, write_fd;
	size_t len; /* of a line that is not complete, in text */
	struct strace_tally tally;
	char text[STRACE_READER_BYTES];
};

int strace_reader_open(struct strace_reader **ret, struct err *err) must_check;
/* Tallies what is there; false: nothing was. */
bool strace_reader_read(struct strace_reader *r);
void strace_reader_close(struct strace_reader *r); /* NULL is fine */
DEFINE_CLEANUP(struct strace_reader *, strace_reader_close)
