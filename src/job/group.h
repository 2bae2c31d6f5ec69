/* SPDX-License-Identifier: MIT */
/* group.h - the control group of one launched job: counts exactly what the job took, holds it to
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

struct group;

struct group_options {
	int root_fd; /* borrowed, for as long as the group lives */
	const char *job_id;
	const uint64_t *limit; /* [JOB_LIMIT_COUNT], 0: none. TIME is not ours */
};

/* Makes what can be made here. Where nothing can and no limit needs it, *ret is NULL and ret_why
 * says why (else it is empty). A limit that cannot be held here is -ENOTSUP with the reason and
 * what to do, and nothing is left behind. */
int group_open(const struct group_options *o, struct group **ret, char *ret_why, size_t why_size,
               struct err *err) must_check;
/* Moves who is still in it to the caller's group and removes it, with the empty groups of inner
 * jobs. NULL is fine. */
void group_close(struct group *g);

/* Moves who is in it to the caller's group, and no later than this returns. What they took until
 * then stays the job's. The kernel takes its time, 10 ms and more: it may be called in a thread of
 * its own, while the group is read, and before it is closed. */
void group_empty(const struct group *g);

/* Whether a limit of processes was asked for and no group holds it: then RLIMIT_NPROC must (and
 * does: group_open refused otherwise). g may be NULL. */
bool group_needs_rlimit_pids(const struct group *g, const uint64_t *limit);

/* The v2 directory, for clone3 with CLONE_INTO_CGROUP; -1: there is none. */
int group_spawn_fd(const struct group *g);
/* In the forked child, which has one thread, before exec; is_spawned_inside: clone3 put it into the
 * v2 group. Only writes to open fds: async-signal-safe. A group that holds a limit and can't be
 * joined is -errno, and *ret_where the directory (static for the life of the group). */
int group_join(const struct group *g, bool is_spawned_inside, const char **ret_where) must_check;

/* What the job took so far: what cannot be known stays absent. No limits: those are our doing. */
void group_read(const struct group *g, struct cgroup_readings *ret);
/* Bits 1 << JOB_LIMIT_… of the limits that took effect: somebody was killed or refused memory,
 * refused a fork, or held back. */
unsigned group_limits_hit(const struct group *g);

/* Who is in it, groups of inner jobs included: their number, of which the first cap are written. */
size_t group_pids(const struct group *g, pid_t *ret, size_t cap);
/* A signal to everybody in it, and to who joins meanwhile; SIGKILL until nobody is left. After
 * SIGKILL nobody can be spawned into it any more: some kernels kill him too. */
int group_kill(const struct group *g, int signo, struct err *err) must_check;

const char *group_describe(const struct group *g); /* "cgroup v2, v1 memory"; NULL → "" */
