/* SPDX-License-Identifier: MIT */
/* shm_files.h - files in /dev/shm: memory that is in use whether or not a process maps it. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* The memory of this user's files that were changed since then, in bytes; if there are too many, of
 * those that are found first. */
uint64_t shm_files_changed(int root_fd, uid_t uid, uint64_t since_wall_ns);
