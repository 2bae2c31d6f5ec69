/* SPDX-License-Identifier: MIT */
/* user_tasks.h - how many tasks a user has. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* As far as they can be seen; those that ended and were not waited for count, as they do for
 * RLIMIT_NPROC. */
uint64_t user_tasks_count(int root_fd, uid_t uid);
