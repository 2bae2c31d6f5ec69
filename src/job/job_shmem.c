/* SPDX-License-Identifier: MIT */
#include "job/job_shmem.h"

#include "job/job_memory.h"

#define LITTLE 50 /* a share of the whole: less growth shows nothing */

/* The processes that map shared memory. */
struct sharers {
	size_t count;
	uint64_t members_hash;
	uint64_t whole_bytes, most_bytes, most_then_bytes; /* undivided: now, and as it was read */
	uint64_t shares_bytes, grown_bytes; /* as they were read, and since then */
};

static bool are_all_read(const struct job_memory_list *list)
{
	size_t sharers = 0;

	vec_each(&list->members, m) {
		if (m->shmem_bytes && !(m->has_pss && m->pss_is_fresh))
			return false;
		sharers += m->shmem_bytes > 0;
	}
	return sharers > 0;
}

static void keep_shares(struct job_memory_list *list)
{
	vec_each(&list->members, m) {
		m->read_shmem_bytes = m->shmem_bytes;
		m->share_bytes = m->pss_shmem_bytes;
	}
}

static struct sharers find_sharers(const struct job_memory_list *list)
{
	struct sharers s = { 0 };

	vec_each(&list->members, m) {
		if (!m->shmem_bytes)
			continue;
		s.count++;
		s.members_hash ^= proc_key(m->id);
		s.whole_bytes += m->shmem_bytes;
		s.most_bytes = MAX(s.most_bytes, m->shmem_bytes);
		s.most_then_bytes = MAX(s.most_then_bytes, m->read_shmem_bytes);
		s.shares_bytes += MIN(m->share_bytes, m->shmem_bytes);
		if (m->read_shmem_bytes)
			s.grown_bytes += m->shmem_bytes - MIN(m->read_shmem_bytes, m->shmem_bytes);
	}
	return s;
}

static void learn_growth(struct job_shmem *known, const struct sharers *s)
{
	uint64_t grown = s->whole_bytes - MIN(known->whole_bytes, s->whole_bytes);
	uint64_t added = s->shares_bytes - MIN(known->shares_bytes, s->shares_bytes);

	known->knows_new &= s->members_hash == known->members_hash;
	if (s->members_hash == known->members_hash && grown > s->whole_bytes / LITTLE) {
		known->new_ratio = (double)MIN(added, grown) / (double)grown;
		known->knows_new = true;
	}
	known->members_hash = s->members_hash;
	known->shares_bytes = s->shares_bytes;
	known->whole_bytes = s->whole_bytes;
}

static uint64_t new_bytes(const struct job_shmem *known, const struct sharers *s)
{
	uint64_t most = s->most_bytes - MIN(s->most_then_bytes, s->most_bytes);

	if (known->knows_new && s->members_hash == known->members_hash)
		return (uint64_t)(known->new_ratio * (double)s->grown_bytes);
	if (s->count == 1 && s->most_then_bytes) /* it may share with processes of no job */
		return (uint64_t)((double)most * (double)s->shares_bytes /
		                  (double)MAX(s->most_then_bytes, s->shares_bytes));
	return most;
}

/* If one has left since, its share is that of the others: as long as one of them maps as much as before, it has
 * not become less. */
uint64_t job_shmem_sum(struct job_shmem *known, struct job_memory_list *now, uint64_t machine_bytes)
{
	bool is_read = are_all_read(now);
	struct sharers s;
	uint64_t sum;

	if (is_read)
		keep_shares(now);
	s = find_sharers(now);
	sum = s.shares_bytes;
	if (is_read)
		learn_growth(known, &s);
	else
		sum = MAX(sum + new_bytes(known, &s), MIN(s.most_bytes, known->sum_bytes));
	known->sum_bytes = MIN(MIN(sum, s.whole_bytes), machine_bytes);
	return known->sum_bytes;
}
