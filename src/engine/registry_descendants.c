/* SPDX-License-Identifier: MIT */
/* Who descends from a process that becomes a job's: from the last look, and the births since. The
 * next look would find those that live so long; many do not. */
#include "engine/registry_self.h"
#include "model/own_program.h"
#include "kernel/process_reader.h"

struct kin {
	struct map pids;
	VEC(struct proc_id) list;
};

static void kin_done(struct kin *kin)
{
	map_done(&kin->pids);
	vec_done(&kin->list);
}

static bool add(struct kin *kin, struct proc_id id, pid_t ppid)
{
	struct proc_id *slot;
	uint64_t seen;

	if (!map_get(&kin->pids, (uint64_t)ppid, &seen) ||
	    map_get(&kin->pids, (uint64_t)id.pid, &seen))
		return false;
	map_put(&kin->pids, (uint64_t)id.pid, 1);
	slot = vec_push(&kin->list, PROCS_MAX);
	if (slot)
		*slot = id;
	return true;
}

static bool find_in(struct kin *kin, const struct sample *last, const struct engine_births *since)
{
	bool found = false;

	if (last)
		vec_each(&last->procs, p)
			found |= !own_program_is_helper(p->comm) && add(kin, p->id, p->ppid);
	vec_each(&since->list, birth)
		found |= add(kin, birth->id, birth->ppid);
	return found;
}

/* Who is gone is not told of again, and who is in another job stays there. */
void registry_add_members(struct registry *d, int32_t at, struct proc_id root)
{
	const struct sample *last = sampler_last(engine_sampler(d->engine));
	const struct engine_births *since = engine_births(d->engine);
	struct members *members = engine_members(d->engine);
	struct jobtab *jobs = engine_jobs(d->engine);
	cleanup(kin_done) struct kin kin = { 0 };

	members_add(members, jobs, root, (struct job_ref){ .job = at });
	map_put(&kin.pids, (uint64_t)root.pid, 1);
	while (find_in(&kin, last, since))
		;
	vec_each(&kin.list, id)
		if (jobtab_find(jobs, *id).job < 0 &&
		    process_reader_exists(engine_process_reader(d->engine), *id))
			members_add(members, jobs, *id, (struct job_ref){ .job = at });
}
