/* SPDX-License-Identifier: MIT */
/* cgroup_limit.h - the limits that control groups enforce: their files, and how to detect that a
 * limit took effect. */
#pragma once

#include "model/job.h"
#include "kernel/cgroup_map.h"

struct cgroup_limit {
	enum job_limit id;
	enum cgroup_family family;
	const char *controller, *option;
	const char *remedy; /* what can enforce it if we cannot */
	const char *v1_file, *v2_file;
};

#define GROUP_LIMITS 3
extern const struct cgroup_limit group_limits[GROUP_LIMITS];

/* Sets it in a new group; on -errno *ret_file is the file that could not be written. */
int cgroup_limit_set(const struct cgroup_limit *l, int dir_fd, bool is_v2, uint64_t value,
                     const char **ret_file) must_check;
/* Whether a group has a limit of memory that was reached, by its processes or those below. */
bool cgroup_limit_memory_is_full(int dir_fd, bool is_v2, uint64_t *ret_bytes);
/* Whether this group's own limit was hit. */
bool cgroup_limit_was_hit(const struct cgroup_limit *l, int dir_fd, bool is_v2);
