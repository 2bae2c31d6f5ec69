/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/cgroup_dir.h"
#include "job/adoption_self.h"

#define GROUPS_NS (2 * NS_PER_MS) /* at a tick */
#define GROUP_PAUSE 200           /* so many times as long as it took a group is left alone */
#define GROUP_PIDS_MAX 65536

/* Who a job of root's runs as somebody else is its own, too. */
static void take_pids(struct look *l, size_t job, size_t n)
{
	uint32_t uid = l->t->jobs.at[job].uid;

	for (size_t i = 0; i < n; i++) {
		const struct proc_sample *p = sample_find_proc(l->s, l->st->pids.at[i]);

		if (p && look_is_stranger(l, p) && (p->uid == uid || uid == 0))
			look_take_in(l, p, (struct job_ref){ .job = (int32_t)job });
	}
}

static void look_into(struct look *l, size_t job)
{
	struct adoption *st = l->st;
	const char *path = st->claims.at[job].group;
	cleanup(closep) int fd = openat(st->root_fd, path,
	                                O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	size_t n;

	if (fd < 0)
		return;
	(void)vec_reserve(&st->pids, 256, GROUP_PIDS_MAX);
	n = cgroup_dir_pids(fd, st->pids.at, st->pids.cap);
	take_pids(l, job, MIN(n, st->pids.cap));
	if (n > st->pids.cap) /* the others at the next look */
		(void)vec_reserve(&st->pids, MIN(n, GROUP_PIDS_MAX), GROUP_PIDS_MAX);
}

/* A user may make many groups below his own, and many jobs: so each in its turn, for a limited
 * time. */
void look_into_groups(struct look *l)
{
	struct adoption *st = l->st;
	size_t n = look_claims(l);
	uint64_t began_ns = clock_mono_ns(), now_ns = began_ns;

	for (size_t i = 0; i < n && now_ns - began_ns < GROUPS_NS; i++) {
		size_t job = (st->next_group + i) % n;
		struct claim *c = &st->claims.at[job];
		uint64_t since_ns = now_ns;

		if (!c->group || now_ns < c->rests_until_ns || !look_is_open(l, job))
			continue;
		look_into(l, job);
		now_ns = clock_mono_ns();
		c->rests_until_ns = now_ns + GROUP_PAUSE * (now_ns - since_ns);
		st->next_group = job + 1;
	}
}
