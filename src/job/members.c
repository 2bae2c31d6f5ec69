/* SPDX-License-Identifier: MIT */
#include "job/members.h"

#include <string.h>

#include "base/clock.h"

#define GRAVES_MAX ((size_t)1 << 20)
#define REMEMBER_NS (30 * NS_PER_S) /* totals of the dead come late when their parent is slow */

void members_done(struct members *m)
{
	map_done(&m->living);
	vec_done(&m->guessed);
	vec_done(&m->graves);
}

static bool is_living(const struct members *m, struct proc_id id)
{
	uint64_t start_ticks;

	return map_get(&m->living, (uint64_t)id.pid, &start_ticks) && start_ticks == id.start_ticks;
}

/* The row of its job; NULL: it belongs to none. */
static struct job_row *row_of(const struct job_roster *t, struct proc_id id)
{
	return job_roster_get(t, job_roster_find(t, id).job);
}

/* The end of the former process of this pid was missed. */
static void end_former(struct members *m, const struct job_roster *t, pid_t pid)
{
	struct proc_id former = { .pid = pid };
	struct job_row *row;

	if (!map_get(&m->living, (uint64_t)pid, &former.start_ticks))
		return;
	map_del(&m->living, (uint64_t)pid);
	row = row_of(t, former);
	if (row)
		row->living--;
}

/* By more than what its start is rounded down to. What a wrapper reports has no past. */
static bool is_older_than_sheet(const struct job_row *row, uint32_t num, struct proc_id id)
{
	const struct sheet *sheet = num ? job_row_sheet(row, num) : NULL;

	return sheet && !sheet->is_wrapper &&
	       (id.start_ticks + 2) * NS_PER_TICK < clock_boot_at(sheet->started_ns);
}

void members_add(struct members *m, struct job_roster *t, struct proc_id id, struct job_ref ref)
{
	struct job_row *was = row_of(t, id), *row = job_roster_get(t, ref.job);

	if (!row)
		return;
	end_former(m, t, id.pid); /* or itself, before it changes its job or sheet */
	if (was)
		was->processes--;
	row->processes++;
	row->living++;
	map_put(&m->living, (uint64_t)id.pid, id.start_ticks);
	ref.is_joined = is_older_than_sheet(row, ref.sheet, id);
	job_roster_assign(t, id, ref);
}

void members_part(struct members *m, struct job_roster *t, struct proc_id id)
{
	struct job_row *row = row_of(t, id);

	if (!row)
		return;
	row->living -= is_living(m, id);
	map_del(&m->living, (uint64_t)id.pid);
	job_roster_forget(t, id);
}

void members_drop(struct members *m, struct job_roster *t, struct proc_id id)
{
	struct job_row *row = row_of(t, id);

	if (row)
		row->processes--;
	members_part(m, t, id);
}

#define GRAVES_SOUGHT 4096 /* the latest: more would take too long for each of many */

struct proc_id members_find(const struct members *m, pid_t pid)
{
	struct proc_id id = { .pid = pid };
	size_t n = m->graves.len;

	if (map_get(&m->living, (uint64_t)pid, &id.start_ticks))
		return id;
	for (size_t i = n; i > 0 && n - i < GRAVES_SOUGHT; i--)
		if (m->graves.at[i - 1].id.pid == pid)
			return m->graves.at[i - 1].id;
	return id;
}

struct job_ref members_place(const struct members *m, const struct job_roster *t, pid_t pid)
{
	struct proc_id id = { .pid = pid };

	if (!map_get(&m->living, (uint64_t)pid, &id.start_ticks))
		return (struct job_ref){ .job = -1 };
	return job_roster_find(t, id);
}

void members_mark_ended(struct members *m, const struct job_roster *t, struct proc_id id,
                        uint64_t since_boot_ns)
{
	struct job_row *row = row_of(t, id);
	struct member_grave *grave;

	if (!is_living(m, id))
		return;
	if (row)
		row->living--;
	map_del(&m->living, (uint64_t)id.pid);
	grave = vec_push(&m->graves, GRAVES_MAX);
	if (grave)
		*grave = (struct member_grave){ id, since_boot_ns };
}

static struct job_ref place_below(const struct members *m, const struct job_roster *t,
                                  struct proc_id id, pid_t ppid, const struct members_root *root)
{
	if (ppid && ppid == root->pid)
		return root->is_helper && root->is_helper(id)
		               ? (struct job_ref){ .job = -1 }
		               : root->to;
	return members_place(m, t, ppid);
}

/* Whether the job has ended before that. */
static bool is_closed(const struct job_roster *t, job_handle job, uint64_t boot_ns)
{
	const struct job_row *row = job_roster_get(t, job);

	return !row || (row->closed_boot_ns && boot_ns > row->closed_boot_ns);
}

static void add_child(struct members *m, struct job_roster *t, const struct event *birth,
                      struct job_ref ref)
{
	pid_t *guessed;

	if (ref.job < 0 || is_closed(t, ref.job, birth->boot_ns))
		return;
	members_add(m, t, birth->id, ref);
	if (birth->is_start_guessed && (guessed = vec_push(&m->guessed, PROCS_MAX)))
		*guessed = birth->id.pid;
}

/* Events of this batch have the guess: it stays known, too. */
static void correct_start(struct members *m, struct job_roster *t, struct proc_id id)
{
	struct proc_id guess = { .pid = id.pid };

	if (!id.start_ticks || !map_get(&m->living, (uint64_t)id.pid, &guess.start_ticks) ||
	    guess.start_ticks <= id.start_ticks ||
	    guess.start_ticks - id.start_ticks > TICKS_PER_S)
		return;
	map_put(&m->living, (uint64_t)id.pid, id.start_ticks);
	job_roster_assign(t, id, job_roster_find(t, guess));
}

/* The end of a former process with that pid may come late, where starts are exact. */
static bool is_guessed(const struct members *m, pid_t pid)
{
	vec_each(&m->guessed, guessed)
		if (*guessed == pid)
			return true;
	return false;
}

void members_correct(struct members *m, struct job_roster *t, const struct sample *s)
{
	size_t kept = 0;
	uint64_t start_ticks;

	for (size_t i = 0; i < m->guessed.len; i++) {
		pid_t pid = m->guessed.at[i];
		const struct proc_sample *p = sample_find_proc(s, pid);

		if (p)
			correct_start(m, t, p->id);
		else if (map_get(&m->living, (uint64_t)pid, &start_ticks))
			m->guessed.at[kept++] = pid;
	}
	m->guessed.len = kept;
}

void members_learn(struct members *m, struct job_roster *t, const struct event *events, size_t n,
                   const struct members_root *root)
{
	for (const struct event *e = events; e < events + n; e++) {
		if (e->kind == EVENT_SPAWN) {
			add_child(m, t, e, place_below(m, t, e->id, e->ppid, root));
		} else if (e->kind == EVENT_EXIT) {
			if (is_guessed(m, e->id.pid))
				correct_start(m, t, e->id);
			members_mark_ended(m, t, e->id, e->boot_ns);
		}
	}
}

/* A scan is in the order of pids, and after a wrap a child's pid may be smaller than its parent's: so
 * it is repeated until nothing new is found. */
bool members_adopt(struct members *m, struct job_roster *t, const struct sample *s,
                   const struct members_root *root)
{
	bool found = false, again = true;

	while (again) {
		again = false;
		vec_each(&s->procs, p) {
			struct job_ref ref = job_roster_find(t, p->id);

			if (ref.job >= 0)
				continue;
			ref = place_below(m, t, p->id, p->ppid, root);
			if (ref.job < 0 || is_closed(t, ref.job, UINT64_MAX))
				continue;
			members_add(m, t, p->id, ref);
			again = found = true;
		}
	}
	return found;
}

void members_list(const struct members *m, struct sample_request *to)
{
	struct map_slot slot;

	vec_reset(&to->focus);
	for (size_t it = 0; map_next(&m->living, &it, &slot);) {
		struct proc_id *id = vec_push(&to->focus, PROCS_MAX);

		if (id)
			*id = (struct proc_id){ (pid_t)slot.key, slot.value };
	}
}

uint64_t members_release(struct members *m, struct job_roster *t, job_handle job)
{
	struct job_row *row = job_roster_get(t, job);
	struct map old = m->living;
	struct map_slot slot;
	uint64_t n = 0;

	if (!row || !row->living)
		return 0;
	m->living = (struct map){ 0 };
	for (size_t it = 0; map_next(&old, &it, &slot);) {
		struct proc_id id = { (pid_t)slot.key, slot.value };

		if (job_roster_find(t, id).job != job) {
			map_put(&m->living, slot.key, slot.value);
			continue;
		}
		job_roster_forget(t, id);
		n++;
	}
	map_done(&old);
	row->living = 0;
	return n;
}

void members_leave(struct members *m, const struct job_roster *t)
{
	struct map old = m->living;
	struct map_slot slot;
	size_t kept = 0;

	m->living = (struct map){ 0 };
	for (size_t it = 0; map_next(&old, &it, &slot);) {
		struct proc_id id = { (pid_t)slot.key, slot.value };

		if (job_roster_find(t, id).job >= 0)
			map_put(&m->living, slot.key, slot.value);
	}
	map_done(&old);
	vec_each(&m->graves, grave)
		if (job_roster_find(t, grave->id).job >= 0)
			m->graves.at[kept++] = *grave;
	m->graves.len = kept;
}

void members_forget(struct members *m, struct job_roster *t, uint64_t now_boot_ns)
{
	size_t old = 0;

	while (old < m->graves.len && m->graves.at[old].since_ns + REMEMBER_NS < now_boot_ns)
		job_roster_forget(t, m->graves.at[old++].id);
	if (!old)
		return;
	m->graves.len -= old;
	memmove(m->graves.at, m->graves.at + old, m->graves.len * sizeof *m->graves.at);
}
