/* SPDX-License-Identifier: MIT */
#include "job/job_memory.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/map.h"

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
		.pss_anon_bytes = p->pss_anon_bytes,
		.shmem_bytes = p->pss_shmem_bytes,
		.has_pss = p->pss_anon_bytes || p->pss_shmem_bytes,
		.pss_is_fresh = p->pss_is_fresh,
		.private_bytes = p->anon_bytes,
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
static void copy_pages(struct job_memory_member *m, uint64_t faults, uint64_t new_bytes)
{
	uint64_t faulted = faults * page_bytes();
	uint64_t copied = faulted - MIN(faulted, new_bytes);

	m->private_bytes = MIN(m->private_bytes + copied, m->anon_bytes);
}

/* What it frees, it frees of its own pages first. */
static void carry_on(struct job_memory_member *m, const struct job_memory_member *last)
{
	uint64_t freed = last->anon_bytes - MIN(last->anon_bytes, m->anon_bytes);
	uint64_t added = m->anon_bytes - MIN(last->anon_bytes, m->anon_bytes);

	if (!m->has_pss)
		m->shmem_bytes = MIN(last->shmem_bytes, m->mapped_bytes);
	m->private_bytes = last->private_bytes - MIN(last->private_bytes, freed) + added;
	copy_pages(m, m->faults - MIN(last->faults, m->faults), added);
}

/* It shares with the process that it comes from all that it has not faulted in itself. */
static void fork_off(struct job_memory_member *m, struct job_memory_member *origin)
{
	uint64_t inherited;

	m->private_bytes = m->anon_bytes - MIN(m->anon_bytes, origin->anon_bytes);
	copy_pages(m, m->faults, m->private_bytes);
	inherited = m->anon_bytes - m->private_bytes;
	origin->private_bytes -= MIN(origin->private_bytes, inherited);
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

/* Its parent, if that is of its family, or the largest of those that are older: the parent may be gone. */
static struct job_memory_member *find_origin(struct job_memory_list *list, const struct map *pids,
                                             const struct map *largest,
                                             const struct job_memory_member *m)
{
	struct job_memory_member *parent = find(list, pids, (uint64_t)m->ppid);

	return parent && parent < m && parent->family == m->family ? parent
	                                                           : find(list, largest, m->family);
}

static void follow_members(struct job_memory *m)
{
	struct map last = { 0 }, now = { 0 }, largest = { 0 }; /* of each family so far */

	index_members(&m->last, false, &last);
	index_members(&m->now, true, &now);
	vec_each(&m->now.members, member) {
		const struct job_memory_member *before = find(&m->last, &last,
		                                              proc_key(member->id));
		struct job_memory_member *origin = find_origin(&m->now, &now, &largest, member);
		const struct job_memory_member *most = find(&m->now, &largest, member->family);

		if (before && before->family == member->family)
			carry_on(member, before);
		else if (!before && origin)
			fork_off(member, origin);
		if (!most || member->anon_bytes > most->anon_bytes)
			map_put(&largest, member->family, (uint64_t)(member - m->now.members.at));
	}
	map_done(&last);
	map_done(&now);
	map_done(&largest);
}

/* ---- families -------------------------------------------------------------------------------- */

/* With n sharing, PSS is the private part and an n-th of the rest. */
static void correct(struct job_memory_member *m, uint64_t n)
{
	uint64_t all = n * m->pss_anon_bytes;

	if (n == 1)
		m->private_bytes = m->anon_bytes;
	else if (m->pss_is_fresh && m->pss_anon_bytes)
		m->private_bytes = MIN((all - MIN(all, m->anon_bytes)) / (n - 1), m->anon_bytes);
}

static uint64_t sum_families(struct job_memory *m)
{
	struct map sizes = { 0 }, shared = { 0 };
	uint64_t sum = 0;

	qsort(m->now.members.at, m->now.members.len, sizeof *m->now.members.at, by_age);
	follow_members(m);
	vec_each(&m->now.members, member) {
		uint64_t n = 0;

		(void)map_get(&sizes, member->family, &n);
		map_put(&sizes, member->family, n + 1);
	}
	vec_each(&m->now.members, member) {
		uint64_t n = 1, most = 0, rest;

		(void)map_get(&sizes, member->family, &n);
		(void)map_get(&shared, member->family, &most);
		correct(member, n);
		rest = member->anon_bytes - member->private_bytes;
		map_put(&shared, member->family, MAX(most, rest));
		sum += member->private_bytes + member->shmem_bytes + MAX(most, rest) - most;
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
