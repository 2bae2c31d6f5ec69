/* SPDX-License-Identifier: MIT */
#include "job/unreaped.h"

static void add(struct unreaped *u, struct proc_id id, struct job_ref ref)
{
	struct unreaped_one *one = ref.job >= 0 ? vec_push(&u->list, UNREAPED_MAX) : NULL;

	if (one)
		*one = (struct unreaped_one){ .id = id, .ref = ref };
}

static void remove_one(struct unreaped *u, struct proc_id id)
{
	vec_each(&u->list, one)
		if (proc_id_eq(one->id, id)) {
			*one = u->list.at[--u->list.len];
			return;
		}
}

void unreaped_learn(struct unreaped *u, const struct job_roster *jobs, const struct event *events,
                    size_t n)
{
	for (const struct event *e = events; e < events + n; e++) {
		if (e->kind == EVENT_EXIT && !e->inferred &&
		    !readings_has(&e->final, PROC_CPU_TIME))
			add(u, e->id, job_roster_find(jobs, e->id));
		else if (e->kind == EVENT_TOTALS && u->list.len)
			remove_one(u, e->id);
	}
}

/* The table forgets the dead after a while, but not these. */
void unreaped_list(struct unreaped *u, struct job_roster *jobs, struct sample_request *to)
{
	vec_each(&u->list, one) {
		struct proc_id *id = vec_push(&to->focus, PROCS_MAX);

		if (id)
			*id = one->id;
		one->is_listed = id != NULL;
		if (job_roster_find(jobs, one->id).job >= 0 || !job_roster_get(jobs, one->ref.job))
			continue;
		job_roster_assign(jobs, one->id, one->ref);
		one->is_kept = true;
	}
}

/* In any state: the kernel reports an end a moment before the process becomes a zombie. */
static bool is_there(const struct snapshot *snap, struct proc_id id)
{
	const struct proc_snap *p = snapshot_find(snap, id.pid);

	return p && proc_id_eq(p->s.id, id);
}

void unreaped_forget(struct unreaped *u, struct job_roster *jobs, const struct snapshot *snap)
{
	size_t kept = 0;

	vec_each(&u->list, one) {
		if (!one->is_listed || is_there(snap, one->id))
			u->list.at[kept++] = *one;
		else if (one->is_kept)
			job_roster_forget(jobs, one->id);
	}
	u->list.len = kept;
}

void unreaped_done(struct unreaped *u)
{
	vec_done(&u->list);
}
