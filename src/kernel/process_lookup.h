/* SPDX-License-Identifier: MIT */
/* process_lookup.h - one question, about one process or one user, answered from /proc. */
#pragma once

#include <stdbool.h>

#include "model/process.h"

/* Fills in when id->pid began; leaves it alone when there is no such process. */
void process_lookup_start(int root_fd, struct proc_id *id);
/* Whether it is there, be it as a zombie. A start that is not known fits any. */
bool process_lookup_is(int root_fd, struct proc_id id);
/* … and has not ended. */
bool process_lookup_is_alive(int root_fd, struct proc_id id);
/* Tasks of this user, as far as they can be seen; those that ended and were not waited for count,
 * as they do for RLIMIT_NPROC. */
uint64_t process_lookup_count_tasks(int root_fd, uid_t uid);
