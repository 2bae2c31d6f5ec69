/* SPDX-License-Identifier: MIT */
#include "model/snapshot_scope.h"

static bool is_ours(void *self, const struct job *job)
{
	(void)self;
	return !job->is_stored_by_other;
}

/* When the job is over, so is its recorder: leftovers are ours. */
static bool is_process_ours(void *self, const struct job *job, uint32_t uid)
{
	(void)uid;
	return !job || is_ours(self, job) || job->status != JOB_RUNNING;
}

/* The recorder of a job has stored what happened up to the end that it reported. */
static bool is_event_ours(const struct job *job, const struct event *e)
{
	return !job || !job->is_stored_by_other || job->status == JOB_LOST ||
	       e->wall_ns > job->ended_ns;
}

const struct snapshot_scope snapshot_scope_ours = { .has_job = is_ours,
	                                            .has_process = is_process_ours };

static const struct job *job_at(const struct snapshot *snap, int32_t job)
{
	return job >= 0 && (size_t)job < snap->jobs.len ? &snap->jobs.at[job] : NULL;
}

bool snapshot_scope_has_job(const struct snapshot_scope *scope, const struct snapshot *snap,
                            int32_t job)
{
	const struct job *found = job_at(snap, job);

	return found && (!scope || scope->has_job(scope->self, found));
}

static bool has_process(const struct snapshot_scope *scope, const struct snapshot *snap,
                        int32_t job, uint32_t uid)
{
	return !scope || scope->has_process(scope->self, job_at(snap, job), uid);
}

bool snapshot_scope_has_proc(const struct snapshot_scope *scope, const struct snapshot *snap,
                             const struct proc_snap *p)
{
	return has_process(scope, snap, p->job, p->s.uid);
}

bool snapshot_scope_has_event(const struct snapshot_scope *scope, const struct snapshot *snap,
                              const struct event *e)
{
	if (scope == &snapshot_scope_ours && !is_event_ours(job_at(snap, e->job), e))
		return false;
	return has_process(scope, snap, e->job, e->id.pid ? e->uid : 0);
}

static bool has_this_process(const struct snapshot_scope *scope, const struct snapshot *snap,
                             struct proc_id id)
{
	const struct proc_snap *p = snapshot_find(snap, id.pid);

	return p && proc_id_eq(p->s.id, id) && snapshot_scope_has_proc(scope, snap, p);
}

bool snapshot_scope_has_anomaly(const struct snapshot_scope *scope, const struct snapshot *snap,
                                const struct anomaly *a)
{
	if (anomaly_kinds[a->kind].scope == ANOMALY_OF_JOB && a->job >= 0)
		return snapshot_scope_has_job(scope, snap, a->job);
	return !scope || !a->id.pid || snapshot_scope_has_job(scope, snap, a->job) ||
	       has_this_process(scope, snap, a->id);
}

/* A process that only the GPU driver reports has no owner. */
bool snapshot_scope_has_gpu_use(const struct snapshot_scope *scope, const struct snapshot *snap,
                                const struct gpu_use *use)
{
	bool is_unknown = use->has_host_pid || !use->id.start_ticks;

	return is_unknown ? has_process(scope, snap, -1, 0)
	                  : !scope || has_this_process(scope, snap, use->id);
}

bool snapshot_scope_has_zombie(const struct snapshot_scope *scope, const struct snapshot *snap,
                               pid_t pid)
{
	const struct proc_snap *p = scope ? snapshot_find(snap, pid) : NULL;

	return !scope || (p && snapshot_scope_has_proc(scope, snap, p));
}

static void count_jobs(const struct snapshot_scope *scope, const struct snapshot *snap,
                       uint32_t *ret_jobs, uint32_t *ret_sheets)
{
	uint32_t jobs = 0, sheets = 0;

	vec_each(&snap->jobs, job) {
		if (job->status != JOB_RUNNING || (scope && !scope->has_job(scope->self, job)))
			continue;
		jobs++;
		sheets += job->running_sheets;
	}
	*ret_jobs = jobs;
	*ret_sheets = sheets;
}

void snapshot_scope_count_jobs(struct snapshot *snap)
{
	count_jobs(NULL, snap, &snap->running_jobs, &snap->active_sheets);
}

struct snapshot_counts snapshot_scope_count(const struct snapshot_scope *scope,
                                            const struct snapshot *snap)
{
	struct snapshot_counts n = { .procs = snap->procs.len,
		                     .zombies = snap->zombies.len,
		                     .running_jobs = snap->running_jobs,
		                     .active_sheets = snap->active_sheets };

	if (!scope)
		return n;
	n.procs = n.zombies = 0;
	vec_each(&snap->procs, p)
		n.procs += snapshot_scope_has_proc(scope, snap, p);
	vec_each(&snap->zombies, pid)
		n.zombies += snapshot_scope_has_zombie(scope, snap, *pid);
	count_jobs(scope, snap, &n.running_jobs, &n.active_sheets);
	return n;
}
