/* SPDX-License-Identifier: MIT */
/* cgroup_limit.h - the limits that control groups can hold: which file says what, and how one sees
 * that a limit took effect. */
#pragma once

#include "model/job.h"
#include "kernel/cgroup_map.h"

struct cgroup_limit {
	enum job_limit id;
	enum cgroup_family family;
	const char *controller, *option;
	const char *remedy; /* who can hold it where we cannot */
	const char *v1_file, *v2_file;
};

#define GROUP_LIMITS 3
extern const struct cgroup_limit group_limits[GROUP_LIMITS];

/* Writes it into a new group; 0 or -errno, and in *ret_file the file that refused. */
int cgroup_limit_set(const struct cgroup_limit *l, int dir_fd, bool is_v2, uint64_t value,
                     const char **ret_file) must_check;
/* Whether this group's own limit was met. */
bool cgroup_limit_was_hit(const struct cgroup_limit *l, int dir_fd, bool is_v2);
