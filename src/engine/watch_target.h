/* SPDX-License-Identifier: MIT */
/* watch_target.h - which processes can be those of a job that runs already. The others are refused with
 * -EINVAL, and the message names the process and what to do instead. */
#pragma once

#include "base/err.h"
#include "kernel/process_reader.h"

/* Any process of a job, such as that of a sheet: not init, a kernel thread or ourselves. */
int watch_target_check_member(struct process_reader *reader, pid_t pid, struct err *err) must_check;
/* The first process of a job: nor another proctor, which records a job of its own. `recorder` (0: none) has
 * announced its own command, which may not have been executed yet, or be a proctor. */
int watch_target_check_first(struct process_reader *reader, pid_t pid, pid_t recorder,
                             struct err *err) must_check;
/* A process that we wait for: we must not descend from it. */
int watch_target_check_ancestor(struct process_reader *reader, pid_t pid, struct err *err)
	must_check;
