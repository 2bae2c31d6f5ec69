/* SPDX-License-Identifier: MIT */
/* pid_namespace.h - pids of other namespaces: a process in a pid namespace of its own (a container)
 * means another process by a number than we do. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "kernel/process_reader.h"

/* Whether ours is the host's own, the initial one; false when that cannot be seen. */
bool pid_namespace_is_initial(int root_fd);
/* The process that `caller`, a pid of ours, calls `pid`. -ENOENT: there is none, or we may not see
 * it. */
int pid_namespace_find(int root_fd, struct process_reader *reader, pid_t caller, pid_t pid,
                       pid_t *ret, struct err *err) must_check;
/* The pid of that process of ours as it counts itself; 0: not known. */
pid_t pid_namespace_inner(struct process_reader *reader, pid_t pid);
