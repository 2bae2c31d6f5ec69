/* SPDX-License-Identifier: MIT */
/* gpu_pids.h - whose numbers the driver's pids are. It counts as the host does; in a container the
 * same number may be another process. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "kernel/process_reader.h"

/* We are in the host's own pid namespace. */
bool gpu_pids_are_ours(int root_fd);
/* The process of that number here has a GPU's device open, so it is most likely the one that is
 * meant. */
bool gpu_pid_is_ours(struct process_reader *reader, pid_t pid);
