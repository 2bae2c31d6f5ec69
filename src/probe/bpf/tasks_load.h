/* SPDX-License-Identifier: MIT */
/* tasks_load.h - the task iterator, loaded into the kernel. Records as in task_record.h. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct tasks_load;

/* cpus: how many the machine may have; 0 forgoes the exact sum of resident memory. */
int tasks_load_open(int root_fd, unsigned cpus, struct tasks_load **ret, struct err *err)
	must_check;
void tasks_load_close(struct tasks_load *load); /* NULL is fine */
DEFINE_CLEANUP(struct tasks_load *, tasks_load_close)
/* For the next pass: no process, or also this one, is read in full whatever happened to it. */
void tasks_load_clear_focus(struct tasks_load *load);
void tasks_load_add_focus(struct tasks_load *load, pid_t pid);
/* A new pass over all tasks, to be read to its end and closed: an fd, or -errno. With `all` every
 * process is read in full: what the last pass gave was lost. */
int tasks_load_iterate(struct tasks_load *load, bool all, struct err *err) must_check;
