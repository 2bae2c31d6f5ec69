/* SPDX-License-Identifier: MIT */
/* strace.h - strace attached to a process, with its threads and the children that it makes from then on.
 *
 * strace is started and ended by a small process of ours, the keeper (strace_keeper.h), so that nothing is left
 * behind whichever dies first, by SIGKILL too:
 *  - we: the keeper reads the end of our socket, and ends strace;
 *  - strace: the keeper kills what is left of its process group (strace tests the kernel with children that stop);
 *  - the keeper: the kernel kills strace, and strace_kill() the rest of its group;
 *  - the traced process: strace ends by itself.
 * A strace that was stopped by a signal would stop what it traces: the keeper has it go on, and strace_nudge() the
 * keeper.
 * Only if we and the keeper are killed together in the few milliseconds in which strace starts, one of those children
 * may stay.
 * strace attaches by PTRACE_SEIZE, which stops nothing by a signal: the kernel lets all traced processes go on when
 * the tracer is gone, however it ended. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "model/process.h"

#define STRACE_FILTER_MAX 1024

/* A strace that has not attached by then is ended: the process may hang in execve() for ever. */
#define STRACE_ATTACH_NS (10 * NS_PER_S)

struct strace;

struct strace_options {
	const char *program; /* from strace_find() */
	pid_t pid;
	const pid_t *others; /* further processes; those that have ended are left out */
	size_t others_len;
	bool is_raw;        /* lines for strace_line.h, passed on in batches */
	const char *filter; /* what `strace -e trace=` takes; NULL: all calls */
	int out_fd;         /* where the trace goes; borrowed until strace_start() returns */
	bool empties_output; /* a file, when strace has attached; it is left as it was if that fails */
	uint64_t for_ns;     /* 0: until all that is traced has ended */
	uint64_t max_bytes; /* 0: any number */
	/* Traced processes wait up to so long while the output is not read: then strace ends, and
	 * the end is STRACE_OUTPUT_FAILED with ETIMEDOUT. 0: for ever. */
	uint64_t patience_ns;
	/* With the rights of this user only; for the spawner (strace_spawner.h). */
	bool has_user;
	uid_t uid;
	gid_t gid;
};

/* Up to STRACE_OUTPUT_CLOSED it ended in order. */
enum strace_end {
	STRACE_ALL_ENDED,     /* all traced processes */
	STRACE_STOPPED,       /* by strace_stop() */
	STRACE_TIME_OVER,     /* for_ns */
	STRACE_FULL,          /* max_bytes were written */
	STRACE_OUTPUT_CLOSED, /* by its reader */
	STRACE_OUTPUT_FAILED, /* code: errno */
	STRACE_NOT_ATTACHED,  /* text: why, as strace prints it; code: errno of it, 0: unknown */
	STRACE_FAILED,        /* text: why, or code: the signal that ended strace */
	STRACE_KEEPER_LOST,   /* it was killed */
};

struct strace_news {
	enum { STRACE_IS_STARTED, STRACE_IS_ATTACHED, STRACE_IS_OVER } kind;
	pid_t strace_pid;
	/* When it is over: */
	enum strace_end end;
	int code;
	uint64_t bytes; /* written */
	char text[200];
};

/* Where a daemon searches for it: PATH is not trusted. */
#define STRACE_DIRS "/usr/bin:/bin:/usr/local/bin"
/* The program, in a list of directories as in PATH. -ENOENT: it is not installed, with the remedy. */
int strace_find(const char *dirs, char ret[static PATH_MAX], struct err *err) must_check;

/* Returns before strace has attached. The caller may have threads. */
int strace_start(const struct strace_options *o, struct strace **ret, struct err *err) must_check;
/* Readable when there is news. */
int strace_fd(const struct strace *s);
/* False: there is none yet. After STRACE_IS_OVER there is no more. */
bool strace_read(struct strace *s, struct strace_news *ret);
/* Has the keeper go on, should it have been stopped. */
void strace_nudge(const struct strace *s);
/* Asks for the end, which takes up to a second or two and is reported. */
void strace_stop(struct strace *s);
/* When the end was not reported in time, or the keeper was lost: kills what is left. Needs a caller that is a
 * subreaper, because the group of a strace that another process has waited for may be another process's by now. */
void strace_kill(struct strace *s);
/* Ends strace soon if it still runs. NULL is fine. */
void strace_free(struct strace *s);
DEFINE_CLEANUP(struct strace *, strace_free)
