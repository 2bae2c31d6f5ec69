/* SPDX-License-Identifier: MIT */
/* process_origin.h - whether the environment and arguments of a process were set by its own user. A program that gets
 * another user's rights (set-user-id, sudo) keeps what its caller passed: its effective user alone proves nothing. */
#pragma once

#include "kernel/process_reader.h"

/* Whether a process and its parent have that user as real, effective and saved one, and run no program that was started
 * with more rights than its caller had (AT_SECURE). What cannot be read does not. */
struct process_origin {
	bool is_own, is_parents_own;
};

/* Reads files of both. */
void process_origin_read(struct process_reader *r, pid_t pid, pid_t parent, uint32_t uid,
                         struct process_origin *ret);
