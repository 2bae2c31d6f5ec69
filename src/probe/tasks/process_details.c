/* SPDX-License-Identifier: MIT */
/* What costs too much to be read of every process at every tick: PSS, USS, peak memory and the
 * limit of open files. Processes of jobs come first, then those read longest ago, the largest of
 * them first, until the tick's budget is spent. One whose memory stands still is left alone, unless
 * one that it shares pages with (by fork: its family) has changed since: then its share has, too. What
 * was read stays in the sample until the process's next turn. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "kernel/process_reader.h"
#include "probe/probe.h"
#include "model/process_slots.h"

#define TURNS_PER_TICK 32
#define SMALL_TURNS 4 /* that are taken though the budget is spent: shared memory that grows */
#define TURNS_OUTSIDE_JOBS 2 /* of no job: in the first round all that are left, then few */
#define CPU_PER_TICK_NS ((int64_t)(5 * NS_PER_MS)) /* at most; of short ticks this share: */
#define CPU_SHARE 25
#define ROUNDS_TILL_REVIEW                                                                         \
	64 /* of a process that seems idle: others may have begun or ceased to share its pages */

#define PAGE_BYTES 4096 /* at least */

#define TICKS_TILL_ASKED 8 /* for the limit of a process of a job, which may have changed */
#define ASKED_AGAIN_MAX 32 /* in one tick */

enum { DETAIL_PSS, DETAIL_USS, DETAIL_PEAK_RSS, DETAIL_FD_LIMIT, DETAIL_COUNT };
static const enum proc_metric details[DETAIL_COUNT] = {
	[DETAIL_PSS] = PROC_PSS,
	[DETAIL_USS] = PROC_USS,
	[DETAIL_PEAK_RSS] = PROC_PEAK_RSS,
	[DETAIL_FD_LIMIT] = PROC_FD_LIMIT,
};

struct entry {
	uint64_t exec_id;     /* of the program that was read */
	uint32_t met_tick;    /* when it was seen first */
	uint32_t read_round;  /* 0: never; it may have been gone: */
	uint32_t pss_round;   /* when there was an answer */
	uint64_t rss, faults; /* as they were then */
	uint64_t mapped;      /* files and shared memory, when this was read: */
	uint64_t shmem_bytes; /* of them, shared memory */
	uint32_t chosen_round;
	uint32_t asked_tick; /* for its limit; 0: never */
	bool is_refused;     /* we may not read it: never tried again */
	bool is_slow;        /* it hung when it was read last */
	bool has_forked;     /* since then: it shares more, and no count of its own shows it */
	uint64_t present;
	uint64_t value[ARRAY_LEN(details)];
	struct proc_pss pss;
};

struct turn {
	struct proc_sample *proc;
	struct entry *entry;
	bool is_review; /* it has not changed itself */
};

/* Processes of jobs that descend from one run of a program by fork alone. */
struct family {
	uint64_t exec_id;
	size_t members, members_before; /* with memory: in this round, and in the one before */
	uint32_t changed_round;         /* shares that were read before are outdated */
};

struct families {
	VEC(struct family) list;
	struct map index; /* by exec_id */
};

struct detail {
	uint32_t round;    /* ticks that gave turns */
	uint32_t tick;     /* all of them */
	bool is_round;     /* this one gives turns: PSS is wanted, or sharers have left */
	size_t next_asked; /* of the focus, for its limit */
	size_t sharers;    /* of the focus, that mapped shared memory in the last round */
	int64_t credit_ns; /* a large process may cost more than a tick's share: paid back */
	uint64_t mono_ns;  /* of the last tick */
	struct process_slots known;  /* struct entry of each process */
	VEC(struct entry *) entries; /* of out->procs, in their order; NULL: no room for more */
	struct families families;
	size_t refused, slow; /* processes in the last sample */
	bool has_rollup;
	struct process_reader *reader; /* the host's */
};

static void detail_close(void *self_)
{
	struct detail *self = self_;

	if (!self)
		return;
	process_slots_done(&self->known);
	vec_done(&self->entries);
	vec_done(&self->families.list);
	map_done(&self->families.index);
	free(self);
}

static int detail_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	struct detail *self;

	if (faccessat(env->root_fd, "proc", F_OK, 0) < 0)
		return err_set(err, errno, "open '/proc': %s", strerror(errno));
	self = xcalloc(1, sizeof *self);
	self->reader = env->reader;
	self->known.entry_bytes = sizeof(struct entry);
	self->has_rollup = !env->is_live ||
	                   faccessat(env->root_fd, "proc/self/smaps_rollup", F_OK, 0) == 0;
	*ret_self = self;
	return 0;
}

/* ---- one process ----------------------------------------------------------------------------- */

/* The pid may have passed to another since the tick began: the start time shows it. */
static bool is_of(const struct process_request *q, struct proc_id id)
{
	struct process_files_stat st;

	return !q->error && process_files_parse_stat(q->text[PROCESS_STAT], &st) &&
	       st.start_ticks == id.start_ticks;
}

/* Since the tick began: it counts no memory any more, but it has had what the tick shows. */
static bool has_ended(const struct process_request *q)
{
	struct scan status = q->text[PROCESS_STATUS];
	struct proc_readings r = { 0 };

	return scan_left(&status) && !process_files_parse(PROCESS_STATUS, status, &r);
}

/* Keeps the details from the files that were read. */
static void keep_details(const struct process_request *q, struct entry *e)
{
	static const enum process_file files[] = { PROCESS_STATUS, PROCESS_LIMITS, PROCESS_ROLLUP };
	struct proc_readings r = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		(void)process_files_parse(files[i], q->text[files[i]], &r);
	for (size_t i = 0; i < ARRAY_LEN(details); i++)
		if (readings_has(&r, details[i]))
			e->value[i] = r.value[details[i]];
	e->present |= r.present;
	if (q->files & 1U << PROCESS_STATUS)
		e->shmem_bytes = process_files_parse_shmem(q->text[PROCESS_STATUS]);
	if (readings_has(&r, PROC_PSS))
		e->pss = process_files_parse_pss(q->text[PROCESS_ROLLUP]);
}

/* The resident part that is not anonymous: files and shared memory. */
static uint64_t mapped_bytes(const struct proc_sample *p)
{
	uint64_t rss = readings_or(&p->r, PROC_RSS, 0);

	return rss - MIN(rss, p->anon_bytes);
}

static void take_turn(struct detail *self, const struct turn *t)
{
	struct entry *e = t->entry;
	bool has_limit = readings_has(&t->proc->r, PROC_FD_LIMIT);
	struct process_request q = {
		.pid = t->proc->id.pid,
		.files = 1U << PROCESS_STAT | 1U << PROCESS_STATUS |
		         (has_limit ? 0 : 1U << PROCESS_LIMITS) |
		         (self->has_rollup && !e->is_refused ? 1U << PROCESS_ROLLUP : 0),
	};

	process_reader_read(self->reader, &q, 1);
	e->read_round = self->round;
	e->has_forked = false;
	e->rss = readings_or(&t->proc->r, PROC_RSS, 0);
	e->faults = readings_or(&t->proc->r, PROC_MINOR_FAULTS, 0);
	e->is_slow = q.error == -ETIMEDOUT || q.errors[PROCESS_ROLLUP] == -ETIMEDOUT;
	e->is_refused |= q.errors[PROCESS_ROLLUP] == -EACCES || q.errors[PROCESS_ROLLUP] == -EPERM;
	if (!is_of(&q, t->proc->id) || has_ended(&q))
		return;
	e->present = 0;
	e->asked_tick = self->tick;
	e->mapped = mapped_bytes(t->proc);
	keep_details(&q, e);
	if (e->present >> PROC_PSS & 1)
		e->pss_round = self->round;
}

/* By us, and not by threads that store or answer meanwhile. */
static uint64_t spent_ns(const struct detail *self)
{
	return clock_thread_cpu_ns() + process_reader_cpu_ns(self->reader);
}

static void read_limit(struct detail *self, const struct proc_sample *p, struct entry *e)
{
	struct process_request q = { .pid = p->id.pid,
		                     .files = 1U << PROCESS_STAT | 1U << PROCESS_LIMITS };
	uint64_t begin = spent_ns(self);

	process_reader_read(self->reader, &q, 1);
	e->asked_tick = self->tick;
	e->present &= ~(UINT64_C(1) << PROC_FD_LIMIT); /* it may have none any more */
	if (is_of(&q, p->id))
		keep_details(&q, e);
	self->credit_ns -= (int64_t)(spent_ns(self) - begin);
}

/* A small file, unlike smaps_rollup: no page is looked at. */
static void read_shmem(struct detail *self, const struct turn *t)
{
	struct process_request q = { .pid = t->proc->id.pid,
		                     .files = 1U << PROCESS_STAT | 1U << PROCESS_STATUS };
	uint64_t begin = spent_ns(self);

	process_reader_read(self->reader, &q, 1);
	if (is_of(&q, t->proc->id) && !has_ended(&q)) {
		t->entry->mapped = mapped_bytes(t->proc);
		keep_details(&q, t->entry);
	}
	self->credit_ns -= (int64_t)(spent_ns(self) - begin);
}

/* ---- whose turn it is ------------------------------------------------------------------------ */

static bool comes_before(const struct turn *a, const struct turn *b)
{
	if (a->is_review != b->is_review)
		return b->is_review;
	if (a->entry->read_round != b->entry->read_round)
		return a->entry->read_round < b->entry->read_round;
	return readings_or(&a->proc->r, PROC_RSS, 0) > readings_or(&b->proc->r, PROC_RSS, 0);
}

/* A short list kept in order: most processes are compared with its last only. */
static void offer(struct turn turns[TURNS_PER_TICK], size_t *len, size_t cap, struct turn t)
{
	size_t i;

	if (*len == cap && (!cap || !comes_before(&t, &turns[cap - 1])))
		return;
	*len += *len < cap;
	for (i = *len - 1; i > 0 && comes_before(&t, &turns[i - 1]); i--)
		turns[i] = turns[i - 1];
	turns[i] = t;
}

/* Kernel threads and zombies have none. */
static bool has_memory(const struct proc_sample *p)
{
	return readings_or(&p->r, PROC_RSS, 0) > 0;
}

/* By a fiftieth of the whole. */
static bool has_moved(uint64_t from, uint64_t to, uint64_t whole)
{
	return (to > from ? to - from : from - to) > whole / 50;
}

/* In a storm of processes few live on until the next tick. */
static bool is_settled(const struct detail *self, const struct entry *e)
{
	return self->round == 1 || e->met_tick != self->tick;
}

static bool is_due(const struct detail *self, const struct proc_sample *p, const struct entry *e)
{
	if (!has_memory(p))
		return false;
	if (!e->read_round)
		return is_settled(self, e);
	return e->has_forked || self->round - e->read_round >= ROUNDS_TILL_REVIEW ||
	       has_moved(e->rss, readings_or(&p->r, PROC_RSS, 0), e->rss) ||
	       has_moved(e->faults * PAGE_BYTES,
	                 readings_or(&p->r, PROC_MINOR_FAULTS, 0) * PAGE_BYTES, e->rss);
}

static struct entry *entry_of(const struct detail *self, const struct sample *out,
                              const struct proc_sample *p)
{
	return p ? self->entries.at[p - out->procs.at] : NULL;
}

static bool has_remapped(const struct detail *self, const struct proc_sample *p,
                         const struct entry *e)
{
	return has_memory(p) && is_settled(self, e) &&
	       has_moved(e->mapped, mapped_bytes(p), readings_or(&p->r, PROC_RSS, 0));
}

/* ---- families -------------------------------------------------------------------------------- */

static const struct family *find_family(const struct detail *self, const struct entry *e)
{
	uint64_t at;

	return map_get(&self->families.index, e->exec_id, &at) ? &self->families.list.at[at] : NULL;
}

static struct family *family_of(struct families *all, uint64_t exec_id)
{
	struct family *added;
	uint64_t at;

	if (map_get(&all->index, exec_id, &at))
		return &all->list.at[at];
	added = vec_push(&all->list, PROCS_MAX);
	if (!added)
		return NULL;
	*added = (struct family){ .exec_id = exec_id };
	map_put(&all->index, exec_id, all->list.len - 1);
	return added;
}

static void count_member(struct detail *self, const struct proc_sample *p, const struct entry *e)
{
	struct family *f = p->exec_id && has_memory(p) ? family_of(&self->families, p->exec_id)
	                                               : NULL;

	if (!f)
		return;
	f->members++;
	if (!e->read_round || is_due(self, p, e))
		f->changed_round = self->round;
}

static void drop_empty_families(struct families *all)
{
	size_t kept = 0;

	map_reset(&all->index);
	vec_each(&all->list, f) {
		if (!f->members)
			continue;
		map_put(&all->index, f->exec_id, kept);
		all->list.at[kept++] = *f;
	}
	all->list.len = kept;
}

static void follow_families(struct detail *self, struct sample *out)
{
	vec_each(&self->families.list, f) {
		f->members_before = f->members;
		f->members = 0;
	}
	vec_each(&out->request.focus, id) {
		const struct proc_sample *p = sample_find_proc(out, id->pid);
		const struct entry *e = entry_of(self, out, p);

		if (e && proc_id_eq(p->id, *id))
			count_member(self, p, e);
	}
	drop_empty_families(&self->families);
	vec_each(&self->families.list, f)
		if (f->members != f->members_before)
			f->changed_round = self->round;
}

/* The value read is its share of the family as of this round. */
static bool is_current(const struct detail *self, const struct entry *e)
{
	const struct family *f = find_family(self, e);

	return f && e->pss_round && e->pss_round == e->read_round &&
	       e->read_round >= f->changed_round;
}

static bool is_due_in_family(const struct detail *self, const struct proc_sample *p,
                             const struct entry *e)
{
	const struct family *f = find_family(self, e);

	return is_due(self, p, e) || (f && f->members > 1 && has_memory(p) && e->read_round &&
	                              e->read_round < f->changed_round);
}

/* ---------------------------------------------------------------------------------------------- */

static size_t choose_focus(struct detail *self, struct sample *out,
                           bool is_chosen(const struct detail *, const struct proc_sample *,
                                          const struct entry *),
                           struct turn turns[TURNS_PER_TICK])
{
	size_t len = 0;

	vec_each(&out->request.focus, id) {
		struct proc_sample *p = sample_find_proc(out, id->pid);
		struct entry *e = entry_of(self, out, p);

		if (!e || !proc_id_eq(p->id, *id) || !is_chosen(self, p, e))
			continue;
		e->chosen_round = self->round;
		offer(turns, &len, TURNS_PER_TICK, (struct turn){ p, e, !is_due(self, p, e) });
	}
	return len;
}

static size_t choose_others(struct detail *self, struct sample *out,
                            struct turn turns[TURNS_PER_TICK], size_t cap)
{
	size_t len = 0;

	for (size_t i = 0; i < out->procs.len; i++) {
		struct entry *e = self->entries.at[i];

		if (e && e->chosen_round != self->round && is_due(self, &out->procs.at[i], e))
			offer(turns, &len, cap, (struct turn){ &out->procs.at[i], e, false });
	}
	return len;
}

static void pay_turn(struct detail *self, const struct turn *turn)
{
	uint64_t begin = spent_ns(self);

	take_turn(self, turn);
	self->credit_ns -= (int64_t)(spent_ns(self) - begin);
}

static void take_turns(struct detail *self, const struct turn *turns, size_t len)
{
	for (size_t i = 0; i < len && self->credit_ns > 0; i++)
		pay_turn(self, &turns[i]);
}

static bool is_near_limit(const struct proc_sample *p, const struct entry *e)
{
	uint64_t limit = e->value[DETAIL_FD_LIMIT];

	return e->present >> PROC_FD_LIMIT & 1 &&
	       readings_or(&p->r, PROC_FDS, 0) >= limit - limit / 4;
}

/* NULL: the tasks probe reported its limit, or it has none. */
static struct entry *entry_without_limit(struct detail *self, const struct sample *out,
                                         const struct proc_sample *p)
{
	struct entry *e = entry_of(self, out, p);

	return e && has_memory(p) && !readings_has(&p->r, PROC_FD_LIMIT) ? e : NULL;
}

/* A process may change its limit, or have it changed, at any time: the limit of one that
 * seems to run out of files is read again first. */
static unsigned read_limits_near(struct detail *self, struct sample *out)
{
	unsigned asked = 0;

	for (size_t i = 0; i < out->procs.len && asked < ASKED_AGAIN_MAX; i++) {
		struct entry *e = entry_without_limit(self, out, &out->procs.at[i]);

		if (!e || !is_near_limit(&out->procs.at[i], e))
			continue;
		read_limit(self, &out->procs.at[i], e);
		asked++;
	}
	return asked;
}

/* Reads the limits of processes of jobs: one small file each when they are new, and again every few
 * ticks. If there are many, the next tick continues where this one stopped. */
static void read_limits(struct detail *self, struct sample *out)
{
	unsigned asked = read_limits_near(self, out);
	size_t i = 0, n = out->request.focus.len, first = n ? self->next_asked % n : 0;

	for (; i < n && asked < ASKED_AGAIN_MAX && self->credit_ns > 0; i++) {
		struct proc_id id = out->request.focus.at[(first + i) % n];
		struct proc_sample *p = sample_find_proc(out, id.pid);
		struct entry *e = entry_without_limit(self, out, p);

		if (!e || !proc_id_eq(p->id, id) ||
		    (e->asked_tick && self->tick - e->asked_tick < TICKS_TILL_ASKED))
			continue;
		asked += e->asked_tick > 0;
		read_limit(self, p, e);
	}
	self->next_asked = first + i;
}

/* ---- a tick ---------------------------------------------------------------------------------- */

static bool find_entries(struct detail *self, const struct sample *out)
{
	vec_relax(&self->entries);
	if (!vec_reserve(&self->entries, out->procs.len, PROCS_MAX))
		return false;
	vec_each(&out->procs, p) {
		struct entry *e = process_slots_see(&self->known, p->id);

		/* In the middle of an exec it is not known, and the memory is new already. */
		if (e && e->exec_id != p->exec_id)
			*e = (struct entry){ .exec_id = p->exec_id };
		if (e && !e->met_tick)
			e->met_tick = self->tick;
		self->entries.at[self->entries.len++] = e;
	}
	return true;
}

/* Children that have run a program share nothing any more. */
static void find_forks(struct detail *self, struct sample *out)
{
	for (size_t i = 0; i < out->procs.len; i++) {
		const struct entry *child = self->entries.at[i];
		const struct proc_sample *p = &out->procs.at[i];
		struct proc_sample *parent;

		if (!child || child->met_tick != self->tick || !p->exec_id)
			continue;
		parent = sample_find_proc(out, p->ppid);
		if (parent && parent->exec_id == p->exec_id && entry_of(self, out, parent))
			entry_of(self, out, parent)->has_forked = true;
	}
}

/* It may be gone, or many others may come first: what it has mapped since is taken to be of the kind that it had,
 * if that was mostly one. */
static uint64_t shmem_now(const struct entry *e, const struct proc_sample *p)
{
	uint64_t mapped = mapped_bytes(p);

	if (mapped > e->mapped && e->shmem_bytes > e->mapped / 4 * 3)
		return mapped - MIN(mapped, e->mapped - MIN(e->mapped, e->shmem_bytes));
	return MIN(e->shmem_bytes, mapped);
}

static void fill(struct detail *self, struct sample *out)
{
	self->refused = self->slow = 0;
	for (size_t i = 0; i < out->procs.len; i++) {
		struct proc_readings *r = &out->procs.at[i].r;
		const struct entry *e = self->entries.at[i];

		if (!e || !has_memory(&out->procs.at[i]))
			continue;
		self->refused += e->is_refused;
		self->slow += e->is_slow;
		out->procs.at[i].shmem_bytes = shmem_now(e, &out->procs.at[i]);
		out->procs.at[i].mark_shmem_bytes = e->shmem_bytes;
		if (e->present >> PROC_PSS & 1) {
			out->procs.at[i].pss = e->pss;
			out->procs.at[i].pss.is_fresh = self->is_round &&
			                                e->pss_round == self->round;
			out->procs.at[i].pss.is_current = self->is_round && is_current(self, e);
		}
		for (size_t k = 0; k < ARRAY_LEN(details) && e->present; k++)
			if (e->present >> details[k] & 1 && !readings_has(r, details[k]))
				readings_set(r, details[k], e->value[k]);
	}
}

/* The number of focused processes with shared memory; and whether one of them was read in this
 * round. */
static size_t count_sharers(const struct detail *self, const struct sample *out, bool *ret_is_new)
{
	size_t sharers = 0;

	vec_each(&out->request.focus, id) {
		const struct proc_sample *p = sample_find_proc(out, id->pid);
		const struct entry *e = entry_of(self, out, p);

		if (!e || !e->shmem_bytes || !has_memory(p))
			continue;
		sharers++;
		*ret_is_new |= e->read_round == self->round;
	}
	return sharers;
}

/* Each process that maps shared memory makes the shares of the others smaller, and each that leaves makes
 * them larger: they are read together, whatever that costs once it has begun, or their sum would count some
 * pages twice or not at all. */
static void read_sharers(struct detail *self, struct sample *out)
{
	bool has_changed = false;
	size_t sharers = count_sharers(self, out, &has_changed);

	has_changed |= sharers != self->sharers && self->credit_ns > 0;
	if (!has_changed)
		return;
	self->sharers = sharers;
	vec_each(&out->request.focus, id) {
		struct proc_sample *p = sample_find_proc(out, id->pid);
		struct entry *e = entry_of(self, out, p);

		if (e && has_memory(p) && e->read_round != self->round &&
		    (e->shmem_bytes || e->pss.shmem_bytes || !e->read_round))
			pay_turn(self, &(struct turn){ p, e, false });
	}
}

static void take_all_turns(struct detail *self, struct sample *out)
{
	struct turn turns[TURNS_PER_TICK];
	size_t len;

	self->round++;
	follow_families(self, out);
	len = choose_focus(self, out, has_remapped, turns);
	for (size_t i = 0; i < len && (i < SMALL_TURNS || self->credit_ns > 0); i++)
		read_shmem(self, &turns[i]);
	len = choose_focus(self, out, is_due_in_family, turns);
	take_turns(self, turns, len);
	read_sharers(self, out);
	len = TURNS_PER_TICK - len;
	len = choose_others(self, out, turns,
	                    self->round == 1 ? len : MIN(len, (size_t)TURNS_OUTSIDE_JOBS));
	take_turns(self, turns, len);
}

static void earn_credit(struct detail *self, uint64_t mono_ns)
{
	int64_t share_ns = (int64_t)(mono_ns - MIN(mono_ns, self->mono_ns)) / CPU_SHARE;

	self->credit_ns += MIN(share_ns, CPU_PER_TICK_NS);
	self->credit_ns = self->tick ? MIN(self->credit_ns, CPU_PER_TICK_NS) : CPU_PER_TICK_NS;
	self->mono_ns = mono_ns;
}

static int detail_read(void *self_, struct sample *out, struct err *err)
{
	struct detail *self = self_;
	uint64_t begin_ns = process_reader_cpu_ns(self->reader);
	bool is_new = false;

	(void)err;
	if (!(out->request.want & (WANT_PSS | WANT_LIMITS)))
		return 0;
	earn_credit(self, out->mono_ns);
	self->tick++;
	if (!find_entries(self, out))
		return 0;
	find_forks(self, out);
	read_limits(self, out);
	self->is_round = out->request.want & WANT_PSS ||
	                 count_sharers(self, out, &is_new) < self->sharers;
	if (self->is_round)
		take_all_turns(self, out);
	out->aside_cpu_ns += process_reader_cpu_ns(self->reader) - begin_ns;
	fill(self, out);
	process_slots_end_tick(&self->known);
	return 0;
}

static void detail_health(const void *self_, struct probe_health *ret)
{
	const struct detail *self = self_;

	*ret = (struct probe_health){ .state = PROBE_WORKS,
		                      .source = "smaps_rollup, status and limits" };
	snprintf(ret->note, sizeof ret->note,
	         "PSS, USS, peak memory and file limits, within 5 ms of CPU per tick");
	if (self->refused) {
		ret->state = PROBE_DEGRADED;
		snprintf(ret->note, sizeof ret->note,
		         "PSS and USS of %zu %s cannot be read: other users' or protected",
		         self->refused, self->refused == 1 ? "process" : "processes");
	}
	if (self->slow) {
		ret->state = PROBE_DEGRADED;
		snprintf(ret->note, sizeof ret->note,
		         "PSS and USS of %zu %s missing: reading them takes too long or hangs",
		         self->slow, self->slow == 1 ? "process are" : "processes are");
	}
	if (!self->has_rollup) {
		ret->state = PROBE_DEGRADED;
		snprintf(ret->note, sizeof ret->note,
		         "no PSS and USS: this kernel has no smaps_rollup (Linux 4.14)");
	}
}

const struct probe_ops probe_detail = {
	.name = "detail",
	.open = detail_open,
	.read = detail_read,
	.health = detail_health,
	.close = detail_close,
};
