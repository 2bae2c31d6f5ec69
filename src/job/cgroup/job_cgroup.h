/* SPDX-License-Identifier: MIT */
/* job_cgroup.h - the control group of one launched job: counts exactly what the job took, holds it to
 * its limits, and knows who belongs to it whatever they do.
 *
 * It is always a child of the caller's own group, on v2 and on each v1 hierarchy that is needed, so
 * that the job stays within the limits of its container, unit or batch step. Nobody else is moved,
 * and no controller is switched on for others, but for one case: on the root of v2, which alone may
 * have both processes and controllers, a limit switches its controller on, and it stays on.
 *
 * One thread at a time. */
#pragma once

#include "base/err.h"
#include "model/job.h"

struct job_cgroup;

struct job_cgroup_options {
	int root_fd; /* borrowed, for as long as the group lives */
	const char *job_id;
	const uint64_t *limit; /* [JOB_LIMIT_COUNT], 0: none. TIME is not ours */
};

/* Makes what can be made here. Where nothing can and no limit needs it, *ret is NULL and ret_why
 * says why (else it is empty). A limit that cannot be held here is -ENOTSUP with the reason and
 * what to do, and nothing is left behind. */
int job_cgroup_open(const struct job_cgroup_options *o, struct job_cgroup **ret, char *ret_why,
                    size_t why_size, struct err *err) must_check;
/* Moves who is still in it to the caller's group and removes it, with the empty groups of inner
 * jobs. NULL is fine. */
void job_cgroup_close(struct job_cgroup *g);

/* Moves who is in it to the caller's group, and no later than this returns. What they took until
 * then stays the job's. The kernel takes its time, 10 ms and more: it may be called in a thread of
 * its own, while the group is read, and before it is closed. */
void job_cgroup_empty(const struct job_cgroup *g);

/* Whether a limit of processes was asked for and no group holds it: then RLIMIT_NPROC must (and
 * does: job_cgroup_open refused otherwise). g may be NULL. */
bool job_cgroup_needs_rlimit_pids(const struct job_cgroup *g, const uint64_t *limit);

/* The v2 directory, for clone3 with CLONE_INTO_CGROUP; -1: there is none. */
int job_cgroup_spawn_fd(const struct job_cgroup *g);
/* In the forked child, which has one thread, before exec; is_spawned_inside: clone3 put it into the
 * v2 group. Only writes to open fds: async-signal-safe. A group that holds a limit and can't be
 * joined is -errno, and *ret_where the directory (static for the life of the group). */
int job_cgroup_join(const struct job_cgroup *g, bool is_spawned_inside, const char **ret_where)
	must_check;

/* What the job took so far: what cannot be known stays absent. No limits: those are our doing. */
void job_cgroup_read(const struct job_cgroup *g, struct cgroup_readings *ret);
/* Bits 1 << JOB_LIMIT_… of the limits that took effect: somebody was killed or refused memory,
 * refused a fork, or held back. */
unsigned job_cgroup_limits_hit(const struct job_cgroup *g);

/* Who is in it, groups of inner jobs included: their number, of which the first cap are written. */
size_t job_cgroup_pids(const struct job_cgroup *g, pid_t *ret, size_t cap);
/* A signal to everybody in it, and to who joins meanwhile; SIGKILL until nobody is left. After
 * SIGKILL nobody can be spawned into it any more: some kernels kill him too. */
int job_cgroup_kill(const struct job_cgroup *g, int signo, struct err *err) must_check;

const char *job_cgroup_describe(const struct job_cgroup *g); /* "cgroup v2, v1 memory"; NULL → "" */
