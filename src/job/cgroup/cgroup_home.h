/* SPDX-License-Identifier: MIT */
/* cgroup_home.h - where the calling process lives in the control group hierarchies, and what else
 * binds it. */
#pragma once

#include "base/err.h"
#include "kernel/cgroup_map.h"

struct cgroup_home {
	struct cgroup_dirs dirs; /* per family: v1's directory where v1 manages it, else v2's */
	struct cgroup_dir v2;    /* path "": no v2 */
	struct err lost;         /* for the caller: why nothing was found */
};

/* Nothing found leaves all paths empty, and says why. */
int cgroup_home_find(int root_fd, struct cgroup_home *ret, struct err *err);

/* Whether RLIMIT_NPROC would be held: root, and who may exceed resource limits, fork past it. */
bool cgroup_home_rlimit_binds(int root_fd);
