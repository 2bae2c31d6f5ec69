/* SPDX-License-Identifier: MIT */
/* tasks_load.h - the task iterator, loaded into the kernel. Records as in task_record.h. */
#pragma once

#include "base/err.h"

struct tasks_load;

/* cpus: how many the machine may have; 0 forgoes the exact sum of resident memory. */
int tasks_load_open(int root_fd, unsigned cpus, struct tasks_load **ret, struct err *err)
	must_check;
void tasks_load_close(struct tasks_load *load); /* NULL is fine */
DEFINE_CLEANUP(struct tasks_load *, tasks_load_close)
/* A new pass over all tasks, to be read to its end and closed: an fd, or -errno. */
int tasks_load_iterate(const struct tasks_load *load, struct err *err) must_check;
