/* SPDX-License-Identifier: MIT */
/* cgroup_place.h - a job's group in one hierarchy: a directory below the caller's own. */
#pragma once

#include "base/err.h"
#include "kernel/cgroup_dir.h"
#include "kernel/cgroup_map.h"

struct cgroup_place {
	bool is_v2, holds_limit;
	int parent_fd, dir_fd, join_fd;
	char name[CGROUP_DIR_NAME_MAX];
	char *parent, *path; /* relative to the root */
};

/* Creates it below that directory, after removing what killed launchers left there. Nothing is left
 * behind on failure. */
int cgroup_place_open(struct cgroup_place *p, int root_fd, const struct cgroup_dir *below,
                      const char *name, struct err *err) must_check;
/* Moves its processes to the parent and removes it. */
void cgroup_place_close(struct cgroup_place *p, int root_fd);
