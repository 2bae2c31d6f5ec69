/* SPDX-License-Identifier: MIT */
/* cgroup_read.h - what a control group used and may use, from its files. Of limits the smallest
 * counts, be it the group's own or an ancestor's. A file that is missing, or a group removed in
 * mid-read, leaves its values absent. */
#pragma once

#include "kernel/cgroup_map.h"
#include "model/metric.h"
#include "model/sample.h"

void cgroup_read(int root_fd, const struct cgroup_dirs *dirs, struct cgroup_readings *ret);
/* Reads only usage, or only limits; other readings in `ret` are kept. `above`: the limits of the
 * groups above it, not its own. `ret_groups` is whose they are; NULL: not asked. */
void cgroup_read_usage(int root_fd, const struct cgroup_dirs *dirs, struct cgroup_readings *ret);
void cgroup_read_limits(int root_fd, const struct cgroup_dirs *dirs, bool above,
                        struct cgroup_readings *ret, struct cgroup_limit_groups *ret_groups);

/* The limit of one family that is in force (thousandths of a core, bytes, tasks), and whose it is: the length
 * of that group's path, for cgroup_map_dir_name(). 0: there is none. */
size_t cgroup_read_limit(int root_fd, const struct cgroup_dirs *dirs, enum cgroup_family family,
                         uint64_t *ret);

/* How many processes were killed for lack of memory: in the group (on v2 with those below), or on the
 * machine. False: this kernel does not count them there. */
bool cgroup_read_oom_kills(int root_fd, const struct cgroup_dir *dir, uint64_t *ret);
bool cgroup_read_machine_oom_kills(int root_fd, uint64_t *ret);

/* The parsers, each for one text. */
bool cgroup_parse_number(struct scan text, const char *key,
                         uint64_t *ret); /* "key 12" in lines; NULL: the text is it */
bool cgroup_parse_limit(struct scan text, uint64_t *ret);               /* false: no limit */
bool cgroup_parse_cpu_max(struct scan text, uint64_t *ret_milli_cores); /* false: no limit */
