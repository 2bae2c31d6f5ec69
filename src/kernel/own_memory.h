/* SPDX-License-Identifier: MIT */
/* own_memory.h - how much memory this process has resident. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* False: /proc cannot be read. */
bool own_memory_read(int root_fd, uint64_t *ret_bytes);
/* All that the machine has, in bytes; 0: not known. */
uint64_t own_memory_of_machine(int root_fd);
