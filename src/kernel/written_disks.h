/* SPDX-License-Identifier: MIT */
/* written_disks.h - the file systems that jobs write to, by the open files of their processes, and the room that is left
 * there. Found in a thread of its own (base/side_task.h): a dead file server never answers, and then nothing is found. */
#pragma once

#include <sys/types.h>

#include "model/disk_use.h"

#define WRITTEN_DISKS_PROCESSES 64 /* that are examined, */
#define WRITTEN_DISKS_FILES 256    /* … and of their open files */

struct written_disks_process {
	pid_t pid;
	job_handle job;
};

struct written_disks;

/* At most WRITTEN_DISKS_PROCESSES of them. NULL: the search cannot be started. */
struct written_disks *written_disks_ask(int root_fd, const struct written_disks_process *processes,
                                        size_t n);
bool written_disks_is_done(struct written_disks *w);
/* Valid until it is freed, once it is done. */
const struct disk_uses *written_disks_found(const struct written_disks *w);
void written_disks_free(struct written_disks *w); /* NULL is fine; what hangs is left behind */
