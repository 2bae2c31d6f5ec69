/* SPDX-License-Identifier: MIT */
/* cgroup_home.h - the control groups of a process, most of all the calling one, and its process limit. */
#pragma once

#include "base/err.h"
#include "kernel/cgroup_map.h"

struct cgroup_home {
	struct cgroup_dirs dirs; /* per family: v1's directory where v1 manages it, else v2's */
	struct cgroup_dir v2;    /* path "": no v2 */
	struct err lost;         /* why nothing was found */
};

/* Those of any process (0: ours); empty paths where no hierarchy is mounted. False: there is no such
 * process. */
bool cgroup_home_locate(int root_fd, pid_t pid, struct cgroup_dirs *ret);

/* On failure all paths are empty. */
int cgroup_home_find(int root_fd, struct cgroup_home *ret, struct err *err);

/* Whether RLIMIT_NPROC is enforced: root, and processes that may exceed resource limits, are exempt. */
bool cgroup_home_rlimit_binds(int root_fd);
