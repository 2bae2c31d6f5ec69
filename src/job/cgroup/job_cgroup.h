/* SPDX-License-Identifier: MIT */
/* job_cgroup.h - the control group of a launched job: accounts exactly for its usage, enforces its
 * limits, and knows its processes whatever they do.
 *
 * It is always a child of the caller's own group, on v2 and on each v1 hierarchy that is needed, so
 * that the job stays within the limits of its container, unit or batch step. No other process is
 * moved, and no controller is enabled for other groups, with one exception: in the root of v2, the
 * only group that may have both processes and controllers, a limit enables its controller for good.
 *
 * One thread at a time. */
#pragma once

#include "base/err.h"
#include "model/job.h"

struct job_cgroup;

struct job_cgroup_options {
	int root_fd; /* borrowed, for as long as the group lives */
	const char *job_id;
	const uint64_t *limit; /* [JOB_LIMIT_COUNT], 0: none. TIME is ignored */
};

/* Creates the groups that are possible here. If none is, and no limit needs one, *ret is NULL and
 * ret_why has the reason (else it is empty). For a limit that cannot be enforced here, -ENOTSUP is
 * returned with the reason and the remedy, and nothing is left behind. */
int job_cgroup_open(const struct job_cgroup_options *o, struct job_cgroup **ret, char *ret_why,
                    size_t why_size, struct err *err) must_check;
/* Moves its remaining processes to the caller's group and removes it, with the empty groups of inner
 * jobs. NULL is fine. */
void job_cgroup_close(struct job_cgroup *g);

/* Moves its processes to the caller's group before it returns. Their usage until then stays the
 * job's. The kernel needs 10 ms or more, so it may be called on another thread, while the group is
 * read, and before it is closed. */
void job_cgroup_empty(const struct job_cgroup *g);

/* Whether RLIMIT_NPROC has to enforce the limit of processes, because no group does (and it can:
 * job_cgroup_open() fails otherwise). g may be NULL. */
bool job_cgroup_needs_rlimit_pids(const struct job_cgroup *g, const uint64_t *limit);

/* The v2 directory, for clone3 with CLONE_INTO_CGROUP; -1: none. */
int job_cgroup_spawn_fd(const struct job_cgroup *g);
/* In the forked child, which has one thread, before exec; is_spawned_inside: clone3 put it into the
 * v2 group. Only writes to open fds: async-signal-safe. A group that holds a limit and can't be
 * joined is -errno, and *ret_where the directory (static for the life of the group). */
int job_cgroup_join(const struct job_cgroup *g, bool is_spawned_inside, const char **ret_where)
	must_check;

/* The usage of the job so far; unknown values stay absent. Limits are not included. */
void job_cgroup_read(const struct job_cgroup *g, struct cgroup_readings *ret);
/* Bits 1 << JOB_LIMIT_… of the limits that took effect: a process was killed, refused memory or a
 * fork, or throttled. */
unsigned job_cgroup_limits_hit(const struct job_cgroup *g);

/* Its processes, including those of inner jobs: returns their number and writes the first `cap`. */
size_t job_cgroup_pids(const struct job_cgroup *g, pid_t *ret, size_t cap);
/* Sends a signal to all its processes, including those that join meanwhile; SIGKILL until none is
 * left. After SIGKILL no process may be spawned into it: some kernels kill that, too. */
int job_cgroup_kill(const struct job_cgroup *g, int signo, struct err *err) must_check;

const char *job_cgroup_describe(const struct job_cgroup *g); /* "cgroup v2, v1 memory"; NULL → "" */
