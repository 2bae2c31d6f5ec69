/* SPDX-License-Identifier: MIT */
/* own_cgroup.h - the control group that a registered job has for itself, so that every process in it
 * belongs to the job. */
#pragma once

#include <sys/types.h>

#include "base/defs.h"
#include "model/job.h"

struct process_reader;

/* Its directory, relative to the root; free() it. NULL when there is none. The group of a process
 * is its job's own when its name allows that (cgroup_name.h) and neither are we in it, nor the
 * process that registered the job (0: not known) unless that is of the job itself, nor any process
 * above of the same user: what these start besides is no part of the job. */
char *own_cgroup_find(int root_fd, struct process_reader *reader, pid_t pid, pid_t registrar);
