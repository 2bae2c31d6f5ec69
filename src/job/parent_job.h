/* SPDX-License-Identifier: MIT */
/* parent_job.h - the job in which another was started, by the processes above it: an id alone does not tell
 * whose job it is, and any process can set one in its environment. */
#pragma once

#include "job/jobs.h"
#include "kernel/process_reader.h"

/* The watched job that this process, or the nearest above it that is in one, belongs to; NULL: none. */
const struct job *parent_job_of(const struct jobs *jobs, pid_t pid);
/* The user of the nearest `proctor run` above this process, as our user namespace has it. False: there is
 * none. */
bool parent_job_recorder_user(struct process_reader *reader, pid_t pid, uid_t *ret);
/* Whether these arguments, each with its NUL, are those of `proctor run`. */
bool parent_job_is_run(struct scan command_line);
