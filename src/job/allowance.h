/* SPDX-License-Identifier: MIT */
/* allowance.h - what a job may use at its start: cores by affinity and quota, memory by the limit in
 * force, time. */
#pragma once

#include "model/job.h"

/* Fills in job->allowed from the job's own limits and those of this process (0: ours), which it has
 * been started in. Known values are kept; nothing is filled in for a process that is gone. */
void allowance_find(int root_fd, pid_t pid, struct job *job);
/* The memory that the process may use now, by the control groups around it or by what the machine has; 0: it is
 * gone. */
uint64_t allowance_memory_now(int root_fd, pid_t pid);
