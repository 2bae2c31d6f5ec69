/* SPDX-License-Identifier: MIT */
#include "job/job_memory.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/map.h"

#define FEW_FAULTS 50 /* a share of the whole */

static uint64_t page_bytes(void)
{
	static uint64_t bytes;

	if (!bytes)
		bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	return bytes;
}

void job_memory_add(struct job_memory *m, const struct proc_sample *p)
{
	struct job_memory_member *added = vec_push(&m->now.members, PROCS_MAX);
	uint64_t rss_bytes = readings_or(&p->r, PROC_RSS, 0);

	if (!added)
		return;
	*added = (struct job_memory_member){
		.id = p->id,
		.ppid = p->ppid,
		.family = p->exec_id ? p->exec_id : proc_key(p->id),
		.anon_bytes = p->anon_bytes,
		.faults = readings_or(&p->r, PROC_MINOR_FAULTS, 0),
		.mapped_bytes = rss_bytes - MIN(rss_bytes, p->anon_bytes),
		.shmem_bytes = p->pss_shmem_bytes,
		.has_pss = p->pss_anon_bytes || p->pss_shmem_bytes,
		.pss_is_fresh = p->pss_is_fresh,
		.knows_shared = p->knows_shared_anon,
		.read_anon_bytes = p->read_anon_bytes,
		.pss_anon_bytes = p->pss_anon_bytes,
		.read_shared_bytes = p->shared_anon_bytes,
	};
}

void job_memory_done(struct job_memory *m)
{
	vec_done(&m->last.members);
	vec_done(&m->now.members);
}

/* ---- from tick to tick ----------------------------------------------------------------------- */

static int by_age(const void *a_, const void *b_)
{
	const struct job_memory_member *a = a_, *b = b_;

	if (a->id.start_ticks != b->id.start_ticks)
		return a->id.start_ticks < b->id.start_ticks ? -1 : 1;
	return (a->id.pid > b->id.pid) - (a->id.pid < b->id.pid);
}

/* A copied page is one fault and does not change how much there is; a new page is both. */
static void copy_pages(struct job_memory_member *m, uint64_t faults, uint64_t grown_bytes)
{
	uint64_t bytes = faults * page_bytes();
	uint64_t copied;

	m->faulted_bytes += bytes - MIN(bytes, grown_bytes);
	copied = MIN(m->faulted_bytes, m->copied_bytes);
	m->shared_bytes = m->shared_then_bytes - MIN(m->shared_then_bytes, copied);
}

static void carry_on(struct job_memory_member *m, const struct job_memory_member *last)
{
	uint64_t grown = m->anon_bytes - MIN(last->anon_bytes, m->anon_bytes);

	if (!m->has_pss)
		m->shmem_bytes = MIN(last->shmem_bytes, m->mapped_bytes);
	m->shared_then_bytes = last->shared_then_bytes;
	m->faulted_bytes = last->faulted_bytes;
	m->has_copied = last->has_copied;
	if (last->has_copied)
		m->copied_bytes = last->copied_bytes;
	copy_pages(m, m->faults - MIN(last->faults, m->faults), grown);
}

static void begin_sharing(struct job_memory_member *m, uint64_t bytes)
{
	m->shared_bytes = m->shared_then_bytes = bytes;
	m->faulted_bytes = 0;
}

/* It shares with the process that it comes from all that both have. */
static void fork_off(struct job_memory_member *m, struct job_memory_member *origin)
{
	uint64_t inherited = MIN(m->anon_bytes, origin->anon_bytes);

	begin_sharing(m, inherited);
	copy_pages(m, m->faults, m->anon_bytes - inherited);
	if (inherited > origin->shared_bytes)
		begin_sharing(origin, inherited);
}

static void index_members(const struct job_memory_list *list, bool by_pid, struct map *ret)
{
	for (size_t i = 0; i < list->members.len; i++) {
		struct proc_id id = list->members.at[i].id;

		map_put(ret, by_pid ? (uint64_t)id.pid : proc_key(id), i);
	}
}

static struct job_memory_member *find(struct job_memory_list *list, const struct map *index,
                                      uint64_t key)
{
	uint64_t at;

	return map_get(index, key, &at) ? &list->members.at[at] : NULL;
}

static bool is_fork_of(const struct job_memory_member *m, const struct job_memory_member *older)
{
	return older && older < m && older->family == m->family && older->id.pid == m->ppid;
}

/* Its parent, or the oldest of its family: the parent may be gone. One that has faulted in
 * all that it has began by itself: where the kernel moves no addresses, two runs of a program look like one. */
static struct job_memory_member *find_origin(struct job_memory_list *list, const struct map *pids,
                                             const struct map *oldest,
                                             const struct job_memory_member *m)
{
	struct job_memory_member *parent = find(list, pids, (uint64_t)m->ppid);

	if (is_fork_of(m, parent))
		return parent;
	return m->faults * page_bytes() < m->anon_bytes ? find(list, oldest, m->family) : NULL;
}

/* What each family was last seen to have copied: the youngest of it that was read. */
static void find_copied(const struct job_memory_list *list, struct map *ret)
{
	vec_each(&list->members, member)
		if (member->has_copied)
			map_put(ret, member->family, member->copied_bytes);
}

static void follow_members(struct job_memory *m)
{
	struct map last = { 0 }, now = { 0 }, copied = { 0 }, oldest = { 0 };

	index_members(&m->last, false, &last);
	index_members(&m->now, true, &now);
	find_copied(&m->last, &copied);
	vec_each(&m->now.members, member) {
		const struct job_memory_member *before = find(&m->last, &last,
		                                              proc_key(member->id));
		struct job_memory_member *origin = find_origin(&m->now, &now, &oldest, member);

		(void)map_get(&copied, member->family, &member->copied_bytes);
		if (before && before->family == member->family)
			carry_on(member, before);
		else if (!before && origin)
			fork_off(member, origin);
		if (!find(&m->now, &oldest, member->family))
			map_put(&oldest, member->family, (uint64_t)(member - m->now.members.at));
	}
	map_done(&last);
	map_done(&now);
	map_done(&copied);
	map_done(&oldest);
}

/* ---- families -------------------------------------------------------------------------------- */

/* One with few page faults shows nothing. */
static void learn_copied(struct job_memory_member *m, uint64_t shared_bytes)
{
	if (m->faulted_bytes <= m->anon_bytes / FEW_FAULTS)
		return;
	m->has_copied = true;
	m->copied_bytes = m->shared_then_bytes - MIN(m->shared_then_bytes, shared_bytes);
}

/* With n sharing, each page of the shared part is missing in PSS but for an n-th. */
static uint64_t shared_of(const struct job_memory_member *m, uint64_t n)
{
	uint64_t missing = m->read_anon_bytes - MIN(m->read_anon_bytes, m->pss_anon_bytes);

	return m->knows_shared ? m->read_shared_bytes
	                       : MIN(missing * n / (n - 1), m->read_anon_bytes);
}

static void correct(struct job_memory_member *m, uint64_t n)
{
	if (n <= 1) {
		begin_sharing(m, 0);
	} else if (m->pss_is_fresh && (m->knows_shared || m->pss_anon_bytes)) {
		learn_copied(m, shared_of(m, n));
		begin_sharing(m, shared_of(m, n));
	}
	m->shared_bytes = MIN(m->shared_bytes, m->anon_bytes);
}

/* Those that have ended, and are not reaped, share nothing. */
static void count_sharers(const struct job_memory_list *list, struct map *ret)
{
	vec_each(&list->members, member) {
		uint64_t n = 0;

		(void)map_get(ret, member->family, &n);
		map_put(ret, member->family, n + (member->anon_bytes > 0));
	}
}

static uint64_t sum_families(struct job_memory *m)
{
	struct map sizes = { 0 }, shared = { 0 };
	uint64_t sum = 0;

	qsort(m->now.members.at, m->now.members.len, sizeof *m->now.members.at, by_age);
	follow_members(m);
	count_sharers(&m->now, &sizes);
	vec_each(&m->now.members, member) {
		uint64_t n = 1, most = 0, rest;

		(void)map_get(&sizes, member->family, &n);
		(void)map_get(&shared, member->family, &most);
		correct(member, n);
		rest = member->shared_bytes;
		map_put(&shared, member->family, MAX(most, rest));
		sum += member->anon_bytes - rest + member->shmem_bytes + MAX(most, rest) - most;
	}
	map_done(&sizes);
	map_done(&shared);
	return sum;
}

uint64_t job_memory_sum(struct job_memory *m)
{
	struct job_memory_list free_again = m->last;
	uint64_t sum = 0;

	if (m->now.members.len)
		sum = sum_families(m);
	m->last = m->now;
	m->now = free_again;
	vec_relax(&m->now.members);
	return sum;
}
