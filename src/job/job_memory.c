/* SPDX-License-Identifier: MIT */
#include "job/job_memory.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/map.h"

#define FEW_FAULTS 50 /* a share of the whole */
#define NEAR 64       /* … that two readings of the same memory differ by at most */
#define LIBRARIES_BYTES ((uint64_t)16 << 20)
#define MARK_NOISE_BYTES ((uint64_t)1 << 20) /* of pages that each CPU counts for itself */

static uint64_t page_bytes(void)
{
	static uint64_t bytes;

	if (!bytes)
		bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	return bytes;
}

static struct job_memory_member member_of(const struct proc_sample *p, bool mark_counts)
{
	uint64_t rss_bytes = readings_or(&p->r, PROC_RSS, 0);
	uint64_t mark_bytes = readings_or(&p->r, PROC_PEAK_RSS, 0);

	return (struct job_memory_member){
		.id = p->id,
		.ppid = p->ppid,
		.family = p->exec_id ? p->exec_id : proc_key(p->id),
		.anon_bytes = p->anon_bytes,
		.faults = readings_or(&p->r, PROC_MINOR_FAULTS, 0),
		.mapped_bytes = rss_bytes - MIN(rss_bytes, p->anon_bytes),
		.shmem_bytes = p->shmem_bytes,
		.mark_shmem_bytes = p->mark_shmem_bytes,
		.mark_bytes = mark_counts ? mark_bytes : MIN(mark_bytes, rss_bytes),
		.ticks = 1,
		.has_pss = p->pss.anon_bytes || p->pss.shmem_bytes,
		.pss_is_fresh = p->pss.is_fresh,
		.pss_is_current = p->pss.is_current,
		.knows_shared = p->pss.knows_shared_anon,
		.read_anon_bytes = p->pss.whole_anon_bytes,
		.pss_anon_bytes = p->pss.anon_bytes,
		.read_shared_bytes = p->pss.shared_anon_bytes,
		.pss_shmem_bytes = p->pss.shmem_bytes,
	};
}

void job_memory_add(struct job_memory *m, const struct proc_sample *p, bool mark_counts)
{
	struct job_memory_member *added = vec_push(&m->now.members, PROCS_MAX);

	if (added)
		*added = member_of(p, mark_counts);
}

static uint64_t rss_of(const struct job_memory_member *m)
{
	return m->anon_bytes + m->mapped_bytes;
}

static uint64_t used_of(const struct job_memory_member *m)
{
	return m->anon_bytes + m->shmem_bytes;
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

	bytes -= MIN(bytes, grown_bytes);
	m->faulted_bytes += bytes;
	m->touched_bytes += bytes;
	copied = MIN(m->faulted_bytes, m->copied_bytes);
	m->shared_bytes = m->shared_then_bytes - MIN(m->shared_then_bytes, copied);
}

static void carry_on(struct job_memory_member *m, const struct job_memory_member *last)
{
	uint64_t grown = m->anon_bytes - MIN(last->anon_bytes, m->anon_bytes);

	if (!m->has_pss)
		m->shmem_bytes = MAX(m->shmem_bytes, MIN(last->shmem_bytes, m->mapped_bytes));
	m->ticks = last->ticks + 1;
	m->mark_then_bytes = last->mark_bytes;
	m->used_then_bytes = used_of(last);
	m->faults_then = last->faults;
	m->read_shmem_bytes = last->read_shmem_bytes;
	m->share_bytes = last->share_bytes;
	m->origin = last->origin;
	m->inherited_bytes = last->inherited_bytes;
	m->born_bytes = last->born_bytes;
	m->touched_bytes = last->touched_bytes;
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
	m->origin = proc_key(origin->id);
	m->born_bytes = inherited;
	m->inherited_bytes = m->shared_bytes;
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

/* One that has run another program since the tick began shares nothing, but it had what the tick shows. */
static bool is_read(const struct job_memory_member *m)
{
	return m->pss_is_fresh && (m->knows_shared || m->pss_anon_bytes) &&
	       m->read_anon_bytes >= m->anon_bytes / 2;
}

static bool is_undivided(const struct job_memory_member *m)
{
	return is_read(m) && m->pss_anon_bytes + m->read_anon_bytes / NEAR >= m->read_anon_bytes;
}

/* A child of vfork runs in the memory of its parent until it runs a program: both have all of it undivided, though
 * the child has faulted in next to nothing. A fork that is younger than the reading of its parent looks the same, and
 * has nothing of its own either. */
static bool borrows(const struct job_memory_member *m, const struct job_memory_member *parent)
{
	return is_fork_of(m, parent) && (is_undivided(m) || is_undivided(parent)) &&
	       m->faults * page_bytes() <= m->anon_bytes / FEW_FAULTS &&
	       m->anon_bytes <= parent->anon_bytes + parent->anon_bytes / NEAR &&
	       parent->anon_bytes <= m->anon_bytes + m->anon_bytes / NEAR;
}

static void leave_to_parent(struct job_memory_member *m)
{
	*m = (struct job_memory_member){
		.id = m->id, .ppid = m->ppid, .family = m->family, .borrows = true
	};
}

/* The bytes that each family had copied when last seen: those of its youngest member that was
 * read. */
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

		if (borrows(member, find(&m->now, &now, (uint64_t)member->ppid))) {
			leave_to_parent(member);
			continue;
		}
		if (before && before->borrows)
			before = NULL;
		(void)map_get(&copied, member->family, &member->copied_bytes);
		if (before && (before->family == member->family || !rss_of(member)))
			member->most = before->most; /* one that is ending has no memory */
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

/* ---- origins --------------------------------------------------------------------------------- */

/* Those of one tick, and the heirs of origins that have ended since the one before. */
struct origins {
	struct job_memory *m;
	struct map last, now, heirs;
};

/* One that has ended, and is not reaped, shares nothing. */
static struct job_memory_member *find_living(struct origins *o, uint64_t key, uint64_t family)
{
	struct job_memory_member *found = key ? find(&o->m->now, &o->now, key) : NULL;

	return found && found->anon_bytes && found->family == family ? found : NULL;
}

/* When an origin has ended, its oldest child takes its place: what it shared with its children is
 * theirs. */
static void replace_origin(struct origins *o, struct job_memory_member *m)
{
	while (m->origin && !find_living(o, m->origin, m->family)) {
		const struct job_memory_member *gone = find(&o->m->last, &o->last, m->origin);
		uint64_t heir;

		if (map_get(&o->heirs, m->origin, &heir)) {
			m->origin = heir == proc_key(m->id) ? 0 : heir;
			continue;
		}
		map_put(&o->heirs, m->origin, proc_key(m->id));
		m->origin = gone ? gone->origin : 0;
		m->inherited_bytes = MIN(m->inherited_bytes, gone ? gone->inherited_bytes : 0);
		m->born_bytes = MIN(m->born_bytes, m->inherited_bytes);
	}
}

static void count_descendants(struct origins *o)
{
	for (size_t i = o->m->now.members.len; i > 0; i--) {
		struct job_memory_member *m = &o->m->now.members.at[i - 1];
		struct job_memory_member *origin = find_living(o, m->origin, m->family);

		m->descendants++;
		if (origin && origin < m)
			origin->descendants += m->descendants;
	}
}

static void follow_origins(struct job_memory *m)
{
	struct origins o = { .m = m };

	index_members(&m->last, false, &o.last);
	index_members(&m->now, false, &o.now);
	vec_each(&m->now.members, member)
		if (member->anon_bytes)
			replace_origin(&o, member);
	count_descendants(&o);
	map_done(&o.last);
	map_done(&o.now);
	map_done(&o.heirs);
}

/* If a process has descendants, its PSS shows how much it shares with them alone: such a page is
 * divided by fewer processes. It has copied or allocated that, so there were page faults. */
static uint64_t inherited_by_pss(const struct job_memory_member *m, uint64_t n)
{
	double own = (double)m->read_anon_bytes - (double)m->shared_bytes;
	double part = (double)m->pss_anon_bytes - own, of_all = (double)m->shared_bytes / (double)n;
	double below = (part - of_all) / (1.0 / m->descendants - 1.0 / (double)n);
	uint64_t most = MIN(m->born_bytes, m->shared_bytes), rest;

	if (m->descendants >= n || below <= 0)
		return most;
	rest = m->shared_bytes - MIN(m->shared_bytes, (uint64_t)below);
	return MIN(most, MAX(rest, m->born_bytes - MIN(m->born_bytes, m->touched_bytes)));
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
	} else if (is_read(m)) {
		learn_copied(m, shared_of(m, n));
		begin_sharing(m, shared_of(m, n));
	}
	m->shared_bytes = MIN(m->shared_bytes, m->anon_bytes);
	if (!m->origin)
		m->inherited_bytes = 0;
	else if (m->descendants <= 1) /* if it forked since the tick, it seems to share more */
		m->inherited_bytes = MIN(m->shared_bytes, m->born_bytes);
	else if (is_read(m))
		m->inherited_bytes = inherited_by_pss(m, n);
	m->inherited_bytes = MIN(m->inherited_bytes, m->shared_bytes);
}

struct family {
	uint64_t size; /* without those that have ended and are not reaped: they share nothing */
	uint64_t own_bytes, most_shared_bytes; /* what is not shared; the largest shared part */
	uint64_t added_bytes;                  /* by each, to what it inherited */
	uint64_t pss_bytes, outdated;          /* sum of those that are current; how many are not */
};

struct families {
	VEC(struct family) list;
	struct map index; /* by the id of the family */
};

static struct family *family_of(struct families *all, uint64_t id)
{
	uint64_t at;

	if (map_get(&all->index, id, &at))
		return &all->list.at[at];
	map_put(&all->index, id, all->list.len);
	return vec_push(&all->list, PROCS_MAX);
}

static void add_to_family(struct family *f, const struct job_memory_member *m)
{
	f->own_bytes += m->anon_bytes - m->shared_bytes;
	f->most_shared_bytes = MAX(f->most_shared_bytes, m->shared_bytes);
	f->added_bytes += m->anon_bytes - m->inherited_bytes;
	if (m->pss_is_current)
		f->pss_bytes += m->pss_anon_bytes;
	else
		f->outdated += m->anon_bytes > 0;
}

static uint64_t sum_family(const struct family *f)
{
	if (f->size > 1 && !f->outdated)
		return f->pss_bytes;
	return MAX(f->own_bytes + f->most_shared_bytes, f->added_bytes);
}

/* ---------------------------------------------------------------------------------------------- */

static uint64_t sum_families(struct job_memory *m)
{
	struct families all = { 0 };
	uint64_t sum = 0;

	qsort(m->now.members.at, m->now.members.len, sizeof *m->now.members.at, by_age);
	follow_members(m);
	follow_origins(m);
	vec_each(&m->now.members, member)
		family_of(&all, member->family)->size += member->anon_bytes > 0;
	vec_each(&m->now.members, member) {
		struct family *f = family_of(&all, member->family);

		correct(member, MAX(f->size, UINT64_C(1)));
		add_to_family(f, member);
	}
	vec_each(&all.list, f)
		sum += sum_family(f);
	vec_done(&all.list);
	map_done(&all.index);
	return sum;
}

/* ---- between the ticks ----------------------------------------------------------------------- */

static struct job_memory_most most_of(const struct job_memory *m,
                                      const struct job_memory_member *member, uint64_t sum)
{
	uint64_t shmem = m->shmem.sum_bytes;

	return (struct job_memory_most){
		.id = member->id,
		.rss_bytes = rss_of(member),
		.used_bytes = used_of(member),
		.shmem_bytes = member->shmem_bytes,
		.others_shmem_bytes = shmem - MIN(member->shmem_bytes, shmem),
		.sum_bytes = sum,
		.faults = member->faults,
	};
}

static void keep_most(struct job_memory_most *most, struct job_memory_most now)
{
	if (now.rss_bytes > most->rss_bytes ||
	    (now.rss_bytes == most->rss_bytes && now.sum_bytes > most->sum_bytes))
		*most = now;
}

/* The part of its peak memory that the job used with it, in proportion to its kinds of memory, or as it was read with the
 * mark. A process that maps little but its program and libraries, and had a page fault for about every page, has
 * grown by memory that it uses: the kernel maps pages of files many at a time. Shared memory that it mapped since is taken
 * to be what others of the job had mapped already. */
static uint64_t used_at_mark(const struct job_memory_most *at, uint64_t mark_bytes,
                             uint64_t mark_shmem_bytes, uint64_t faults)
{
	uint64_t more = mark_bytes - MIN(at->rss_bytes, mark_bytes);
	uint64_t files_bytes = at->rss_bytes - MIN(at->used_bytes, at->rss_bytes);
	uint64_t mapped = mark_shmem_bytes - MIN(at->shmem_bytes, mark_shmem_bytes);
	bool is_used = files_bytes <= LIBRARIES_BYTES && faults * page_bytes() >= more / 2;
	double share = (double)at->used_bytes / (double)MAX(at->rss_bytes, (uint64_t)1);
	double shared = (double)at->shmem_bytes / (double)MAX(at->used_bytes, (uint64_t)1);
	uint64_t grown = MAX(is_used ? more : (uint64_t)((double)more * share), MIN(mapped, more));

	mapped = MAX(mapped, (uint64_t)((double)grown * shared));
	return at->used_bytes + grown - MIN(MIN(mapped, at->others_shmem_bytes), grown);
}

/* … when it had the most. */
static uint64_t used_at_own_mark(const struct job_memory *m, const struct job_memory_member *of,
                                 const struct job_memory_most *most)
{
	const struct job_memory_most now = most_of(m, of, 0);

	if (proc_id_eq(most->id, of->id) && most->rss_bytes > now.rss_bytes)
		return used_at_mark(most, of->mark_bytes, of->mark_shmem_bytes,
		                    of->faults - MIN(most->faults, of->faults));
	return used_at_mark(&now, of->mark_bytes, of->mark_shmem_bytes,
	                    of->faults - MIN(of->faults_then, of->faults));
}

/* A mark that a tick has shown rose before it: what the others have now is not what they had then. */
static uint64_t at_mark(const struct job_memory_most *most, uint64_t known_bytes,
                        uint64_t mark_bytes, uint64_t faults)
{
	if (!most->rss_bytes || mark_bytes <= MAX(known_bytes, most->rss_bytes) + MARK_NOISE_BYTES)
		return 0;
	return most->sum_bytes - most->used_bytes +
	       used_at_mark(most, mark_bytes, 0, faults - MIN(most->faults, faults));
}

uint64_t job_memory_at_mark(const struct job_memory *m, struct proc_id id, uint64_t mark_bytes,
                            uint64_t faults)
{
	vec_each(&m->last.members, member)
		if (proc_id_eq(member->id, id))
			return at_mark(&member->most, member->mark_bytes, mark_bytes, faults);
	return proc_id_eq(m->most.id, id) && !m->last.members.len
	               ? at_mark(&m->most, m->mark_bytes, mark_bytes, faults)
	               : 0;
}

uint64_t job_memory_at_largest_mark(const struct job_memory *m, uint64_t mark_bytes)
{
	return at_mark(&m->most, m->mark_bytes, mark_bytes, 0);
}

/* Whether it had more between the two ticks than at either. */
static bool has_risen(const struct job_memory_member *m)
{
	return m->mark_bytes > rss_of(m) + MARK_NOISE_BYTES &&
	       m->mark_bytes > m->mark_then_bytes + MARK_NOISE_BYTES && rss_of(m);
}

/* When its mark rose is known if it was read at both ticks, or if it was born since the one before the first; else
 * it was probably about when it had the most. */
static uint64_t used_between(const struct job_memory *m, const struct job_memory_member *member,
                             uint64_t sum_bytes)
{
	uint64_t used = used_of(member), then = member->used_then_bytes;
	uint64_t others = MIN(sum_bytes - MIN(used, sum_bytes),
	                      m->sum_bytes - MIN(then, m->sum_bytes));

	if (!member->mark_then_bytes && member->ticks > 2)
		return at_mark(&member->most, 0, member->mark_bytes, member->faults);
	return others + used_at_own_mark(m, member, &member->most);
}

static uint64_t most_between(const struct job_memory *m, uint64_t sum_bytes)
{
	uint64_t most = 0;

	vec_each(&m->now.members, member)
		if (has_risen(member))
			most = MAX(most, used_between(m, member, sum_bytes));
	return most;
}

uint64_t job_memory_between(const struct job_memory *m)
{
	return m->between_bytes;
}

void job_memory_note(struct job_memory *m, const struct proc_sample *p, bool mark_counts)
{
	const struct job_memory_member member = member_of(p, mark_counts);

	m->noted_anon_bytes += member.anon_bytes;
	if (rss_of(&member) > rss_of(&m->largest))
		m->largest = member;
	if (member.mark_bytes > m->highest.mark_bytes)
		m->highest = member;
}

/* Above all that was known before, so it rose since then. */
static uint64_t at_risen_mark(const struct job_memory *m, uint64_t sum_bytes)
{
	const struct job_memory_member *of = &m->highest;
	uint64_t known = MAX(m->mark_bytes, m->most.rss_bytes);

	if (!rss_of(of) || of->mark_bytes <= MAX(known, rss_of(of)) + MARK_NOISE_BYTES)
		return 0;
	if (!m->mark_bytes)
		return proc_id_eq(m->most.id, of->id)
		               ? at_mark(&m->most, 0, of->mark_bytes, of->faults)
		               : 0;
	return sum_bytes - MIN(used_of(of), sum_bytes) + used_at_own_mark(m, of, &m->most);
}

/* The group's memory beyond their anonymous memory is shared memory. */
uint64_t job_memory_take_sum(struct job_memory *m, uint64_t used_bytes, uint64_t charged_bytes)
{
	uint64_t sum_bytes = MAX(used_bytes, MIN(m->largest.anon_bytes, charged_bytes));
	uint64_t shmem_bytes = sum_bytes - MIN(sum_bytes, m->noted_anon_bytes);

	m->largest.shmem_bytes = MIN(m->largest.mapped_bytes, shmem_bytes);
	m->highest.shmem_bytes = MIN(m->highest.mapped_bytes, shmem_bytes);
	m->shmem.sum_bytes = shmem_bytes;
	m->between_bytes = at_risen_mark(m, sum_bytes);
	m->mark_bytes = MAX(m->mark_bytes, m->highest.mark_bytes);
	keep_most(&m->most, most_of(m, &m->largest, sum_bytes));
	m->largest = m->highest = (struct job_memory_member){ 0 };
	m->noted_anon_bytes = 0;
	return sum_bytes;
}

/* ---------------------------------------------------------------------------------------------- */

uint64_t job_memory_sum(struct job_memory *m, uint64_t machine_shmem_bytes)
{
	struct job_memory_list free_again = m->last;
	uint64_t sum = 0;

	if (m->now.members.len)
		sum = sum_families(m) + job_shmem_sum(&m->shmem, &m->now, machine_shmem_bytes);
	m->between_bytes = most_between(m, sum);
	m->sum_bytes = sum;
	vec_each(&m->now.members, member) {
		keep_most(&member->most, most_of(m, member, sum));
		keep_most(&m->most, most_of(m, member, sum));
		m->mark_bytes = MAX(m->mark_bytes, member->mark_bytes);
	}
	m->last = m->now;
	m->now = free_again;
	vec_relax(&m->now.members);
	return sum;
}
