/* SPDX-License-Identifier: MIT */
#include "job/syscall_account.h"

#include <stdlib.h>

#define CALLERS_MAX PROCS_MAX
#define CALLS_MAX ((size_t)1 << 24)
/* The calls of a process may be reported a little after its end. */
#define KEPT_NS (2 * NS_PER_S)

void syscall_account_done(struct syscall_account *a)
{
	vec_each(&a->callers, c)
		syscall_counts_done(&c->counts);
	vec_done(&a->callers);
}

/* Processes by pid, then what they are summed up in. */
static int by_order(const void *a_, const void *b_)
{
	const struct syscall_caller *a = a_, *b = b_;

	if (!a->id.pid != !b->id.pid)
		return a->id.pid ? -1 : 1;
	if (a->id.pid)
		return (proc_key(a->id) > proc_key(b->id)) - (proc_key(a->id) < proc_key(b->id));
	if (a->at.job != b->at.job)
		return a->at.job < b->at.job ? -1 : 1;
	if (a->is_job != b->is_job)
		return a->is_job ? 1 : -1;
	return (a->at.sheet > b->at.sheet) - (a->at.sheet < b->at.sheet);
}

static struct syscall_caller *find_caller(const struct syscall_account *a,
                                          const struct syscall_caller *sought)
{
	return a->callers.len ? bsearch(sought, a->callers.at, a->callers.len,
	                                sizeof *a->callers.at, by_order)
	                      : NULL;
}

static struct syscall_caller *get_caller(struct syscall_account *a,
                                         const struct syscall_caller *sought)
{
	struct syscall_caller *at = find_caller(a, sought);
	size_t place;

	if (at)
		return at;
	if (!vec_push(&a->callers, CALLERS_MAX))
		return NULL;
	for (place = a->callers.len - 1;
	     place > 0 && by_order(&a->callers.at[place - 1], sought) > 0; place--)
		a->callers.at[place] = a->callers.at[place - 1];
	a->callers.at[place] = *sought;
	return &a->callers.at[place];
}

static void add_to(struct syscall_account *a, const struct syscall_caller *sought,
                   const struct syscall_count *c)
{
	struct syscall_caller *at = get_caller(a, sought);

	if (!at)
		return;
	at->at.sheet = sought->at.sheet;
	at->has_changed |= syscall_counts_add(&at->counts, c);
}

static void take_use(struct syscall_account *a, struct proc_id id, struct job_ref at,
                     const struct syscall_use *use)
{
	if (id.start_ticks)
		add_to(a, &(struct syscall_caller){ .id = id, .at = at }, &use->c);
	add_to(a, &(struct syscall_caller){ .at = { .job = at.job }, .is_job = true }, &use->c);
	if (at.sheet)
		add_to(a, &(struct syscall_caller){ .at = at }, &use->c);
}

/* One that no event and no tick reported is known to belong to a job, but not as which process. */
static struct job_ref find_job(const struct job_roster *jobs, const struct members *members,
                               const struct syscall_use *use, struct proc_id *ret_id)
{
	struct job_ref at;

	*ret_id = use->id.start_ticks ? use->id : members_find(members, use->id.pid);
	at = job_roster_find(jobs, *ret_id);
	if (at.job >= 0 || use->id.start_ticks)
		return at;
	ret_id->start_ticks = 0;
	at = job_roster_find(jobs, use->traced);
	return (struct job_ref){ .job = at.job };
}

void syscall_account_take(struct syscall_account *a, const struct job_roster *jobs,
                          const struct members *members, const struct sample *s)
{
	a->has_lost |= s->syscalls_lost;
	a->are_slow |= s->syscalls_are_slow;
	vec_each(&s->syscalls, use) {
		struct proc_id id;
		struct job_ref at = find_job(jobs, members, use, &id);

		if (at.job >= 0)
			take_use(a, id, at, use);
	}
	if (!a->callers.len)
		return;
	vec_each(&s->events, e) {
		struct syscall_caller *ended =
			e->kind == EVENT_EXIT
				? find_caller(a, &(struct syscall_caller){ .id = e->id })
				: NULL;

		if (ended)
			ended->ended_boot_ns = e->boot_ns;
	}
}

static void show_caller(const struct syscall_caller *c, int32_t job, struct snapshot *snap)
{
	const struct syscall_count *counts = c->counts.list.at;
	size_t at = snap->syscalls.len, n = c->counts.list.len;
	struct syscall_owner *owner;

	if (!vec_reserve(&snap->syscalls, at + n, CALLS_MAX))
		return;
	owner = vec_push(&snap->callers, CALLERS_MAX);
	if (!owner)
		return;
	*owner = (struct syscall_owner){ .job = job,
		                         .sheet = c->at.sheet,
		                         .id = c->id,
		                         .at = (uint32_t)at,
		                         .len = (uint32_t)n,
		                         .has_changed = c->has_changed };
	memcpy(snap->syscalls.at + at, counts, n * sizeof *counts);
	snap->syscalls.len += n;
}

static bool is_over(const struct syscall_caller *c, const struct job_roster *jobs, uint64_t now_ns)
{
	return job_roster_index(jobs, c->at.job) < 0 ||
	       (c->ended_boot_ns && c->ended_boot_ns + KEPT_NS < now_ns);
}

void syscall_account_show(struct syscall_account *a, const struct job_roster *jobs,
                          struct snapshot *snap)
{
	size_t kept = 0;

	vec_each(&a->callers, c) {
		int32_t job = job_roster_index(jobs, c->at.job);

		if (job >= 0 && (c->has_changed || !snap->events_only))
			show_caller(c, job, snap);
		c->has_changed = false;
		if (is_over(c, jobs, snap->boot_ns))
			syscall_counts_done(&c->counts);
		else
			a->callers.at[kept++] = *c;
	}
	a->callers.len = kept;
}

/* The calls that a job made before it was traced are missing, if it was not launched here. */
void syscall_account_figures(const struct syscall_account *a, bool is_launched, struct job *job)
{
	const struct syscall_caller sought = { .at = { .job = job->handle }, .is_job = true };
	const struct syscall_caller *c = find_caller(a, &sought);
	enum quality quality = a->has_lost || !is_launched ? QUALITY_AT_LEAST : QUALITY_EXACT;
	struct figure count = { 0, quality };
	struct figure ns = { 0, a->are_slow ? quality_join(quality, QUALITY_AT_MOST) : quality };

	if (!c)
		return;
	vec_each(&c->counts.list, call) {
		count.value += call->error ? 0 : call->count;
		ns.value += call->ns;
	}
	job->figures[JOB_FIGURE_SYSCALLS] = count;
	job->figures[JOB_FIGURE_SYSCALL_TIME] = ns;
}
