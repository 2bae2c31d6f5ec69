/* SPDX-License-Identifier: MIT */
/* process_origin.h - whose word a process's environment and arguments are. A program that gets another user's rights
 * (set-user-id, sudo) keeps what the user behind it passed: its effective user alone proves nothing. */
#pragma once

#include "kernel/process_reader.h"

/* Whether both processes have this user as real, effective and saved one, and neither runs a program that was started with
 * more rights than its caller had (AT_SECURE). What cannot be read is not. */
bool process_origin_is(struct process_reader *r, pid_t pid, pid_t parent, uint32_t uid);
/* The same of the process alone. */
bool process_origin_is_own(struct process_reader *r, pid_t pid, uint32_t uid);
