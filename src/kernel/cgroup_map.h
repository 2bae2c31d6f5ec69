/* SPDX-License-Identifier: MIT */
/* cgroup_map.h - where a control group's files are: from the texts of mountinfo and
 * /proc/PID/cgroup to directories, for v1, v2 and machines that have both. Pure: nothing is
 * opened. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/scan.h"

/* Kinds of files; on v1 each may live in a hierarchy of its own, on v2 all live in one
 * directory. */
enum cgroup_family {
	CGROUP_FAMILY_CPU,
	CGROUP_FAMILY_CPUACCT,
	CGROUP_FAMILY_MEMORY,
	CGROUP_FAMILY_PIDS,
	CGROUP_FAMILIES
};

#define CGROUP_MOUNTS_MAX 32

struct cgroup_mount {
	bool is_v2;
	unsigned families; /* bits; v2: all */
	char root[512];    /* the group that is mounted, "/" as a rule */
	char point[512];   /* where, relative to the root we are given */
};

struct cgroup_mounts {
	size_t len;
	struct cgroup_mount at[CGROUP_MOUNTS_MAX];
};

/* The directory of a group for one family. */
struct cgroup_dir {
	bool is_v2;
	size_t floor;        /* length of the mount point: ancestors are read down to it */
	char path[PATH_MAX]; /* relative to the root; empty: no such files */
};

struct cgroup_dirs {
	struct cgroup_dir of[CGROUP_FAMILIES];
};

void cgroup_parse_mountinfo(struct scan text, struct cgroup_mounts *ret);
/* From the text of /proc/PID/cgroup. "0::/a/b\n" alone means the v2 group /a/b. False when no
 * family has a place. */
bool cgroup_locate(struct scan text, const struct cgroup_mounts *mounts, struct cgroup_dirs *ret);
/* The group above: how much of the path is that of the parent; 0: there is none. Begin with the
 * length of the path. */
size_t cgroup_map_dir_above(const struct cgroup_dir *dir, size_t len);
/* The name of the group of that length in the hierarchy: "/slurm/job_77". A long path keeps its
 * end, which names the job. */
void cgroup_map_dir_name(const struct cgroup_dir *dir, size_t len, char *ret, size_t cap);
/* The directory on v2 alone, also where v1 manages every family; empty when there is none. */
bool cgroup_locate_v2(struct scan text, const struct cgroup_mounts *mounts, struct cgroup_dir *ret);
