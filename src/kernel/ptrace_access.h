/* SPDX-License-Identifier: MIT */
/* ptrace_access.h - whether a process can be traced, by the rules of ptrace(2), and if not, what would permit it.
 * The kernel decides when a tracer attaches; this explains, and refuses early what cannot work. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/scan.h"
#include "kernel/process_reader.h"
#include "model/process.h"

/* The user that wants to trace. */
struct ptrace_caller {
	uid_t uid; /* real ids: ptrace() compares those */
	gid_t gid;
	uint64_t capabilities; /* effective, 1 << CAP_… */
};

/* The lines of /proc/PID/status that matter. */
struct ptrace_target {
	char state;
	pid_t tgid;         /* another than its own: it is a thread of that process */
	pid_t ppid, tracer; /* tracer 0: none that we can see */
	uid_t uids[3];      /* real, effective, saved */
	gid_t gids[3];
	uint64_t capabilities; /* permitted */
	uint64_t threads;      /* that have not ended; a zombie with some goes on without its first */
	bool has_memory;       /* false: a kernel thread, or it has ended */
};

bool ptrace_target_parse(struct scan status, struct ptrace_target *ret);

/* The identity and rights of this process. */
struct ptrace_caller ptrace_access_own(int root_fd);
/* Whether it makes system calls. -ESRCH: there is no such process, it has ended, or it is a thread of one;
 * -EINVAL: a kernel thread; -EPERM: it is hidden from us. */
int ptrace_access_check_kind(int root_fd, pid_t pid, struct err *err) must_check;
/* Whether it may be traced: as above; -EBUSY: it has a tracer; -EPERM: not permitted. 0: nothing
 * visible prevents it. The reader reads about it (-EAGAIN: that hangs); NULL: this thread reads, and may wait. */
int ptrace_access_check(struct process_reader *r, int root_fd, pid_t pid,
                        const struct ptrace_caller *caller, struct err *err) must_check;
/* Why the kernel refused with EPERM; never 0. */
int ptrace_access_explain(struct process_reader *r, int root_fd, pid_t pid,
                          const struct ptrace_caller *caller, struct err *err) must_check;
/* Whether the process is this one, or its parent, or a parent of that. */
bool ptrace_access_is_ancestor(int root_fd, pid_t pid);
