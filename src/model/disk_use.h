/* SPDX-License-Identifier: MIT */
/* disk_use.h - a file system on which a process of a job has a file open for writing. */
#pragma once

#include "model/job.h"

#define DISK_USE_PATH_MAX 96

struct disk_use {
	job_handle job;
	uint64_t device;
	uint64_t total_bytes, free_bytes; /* free for the job's user */
	uint64_t own_bytes;               /* what those files hold */
	char path[DISK_USE_PATH_MAX];     /* the directory of one of them; its end, if it is long */
};

/* A growable list, for vec.h. */
struct disk_uses {
	struct disk_use *at;
	size_t len, cap;
};
