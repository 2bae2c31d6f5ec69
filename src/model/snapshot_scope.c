/* SPDX-License-Identifier: MIT */
#include "model/snapshot.h"

/* Where each job of the snapshot is afterwards; -1: nowhere. */
struct places {
	VEC(int32_t) of;
	const struct snapshot_scope *scope;
};

static const struct job *job_at(const struct snapshot *snap, int32_t job)
{
	return job >= 0 && (size_t)job < snap->jobs.len ? &snap->jobs.at[job] : NULL;
}

static int32_t place(const struct places *to, int32_t job)
{
	return job >= 0 && (size_t)job < to->of.len ? to->of.at[job] : -1;
}

static bool has(const struct places *to, const struct snapshot *snap, int32_t job, uint32_t uid)
{
	return to->scope->has_process(to->scope->self, job_at(snap, job), uid);
}

static void keep_procs(struct snapshot *snap, const struct places *to)
{
	size_t kept = 0;

	vec_each(&snap->procs, p) {
		if (!has(to, snap, p->job, p->s.uid))
			continue;
		p->job = place(to, p->job);
		p->sheet = p->job < 0 ? 0 : p->sheet;
		snap->procs.at[kept++] = *p;
	}
	snap->procs.len = kept;
}

static void keep_events(struct snapshot *snap, const struct places *to)
{
	size_t kept = 0;

	vec_each(&snap->events, e) {
		if (!has(to, snap, e->job, e->id.pid ? e->uid : 0))
			continue;
		e->job = place(to, e->job);
		e->sheet = e->job < 0 ? 0 : e->sheet;
		snap->events.at[kept++] = *e;
	}
	snap->events.len = kept;
}

/* After the processes: what is told of one that is left out is left out too. */
static void keep_anomalies(struct snapshot *snap, const struct places *to)
{
	size_t kept = 0;

	vec_each(&snap->anomalies, a) {
		const struct proc_snap *p = a->id.pid ? snapshot_find(snap, a->id.pid) : NULL;
		bool is_kept = p && proc_id_eq(p->s.id, a->id);

		if (a->id.pid && !is_kept && place(to, a->job) < 0)
			continue;
		a->job = place(to, a->job);
		snap->anomalies.at[kept++] = *a;
	}
	snap->anomalies.len = kept;
}

static void keep_gpu_uses(struct snapshot *snap, const struct places *to)
{
	size_t kept = 0;

	vec_each(&snap->gpu_uses, use) {
		const struct proc_snap *p = snapshot_find(snap, use->id.pid);
		bool is_unknown = use->is_foreign || !use->id.start_ticks;

		if (is_unknown ? !has(to, snap, -1, 0) : !p || !proc_id_eq(p->s.id, use->id))
			continue;
		use->job = place(to, use->job);
		snap->gpu_uses.at[kept++] = *use;
	}
	snap->gpu_uses.len = kept;
}

static void keep_zombies(struct snapshot *snap)
{
	size_t kept = 0;

	vec_each(&snap->zombies, pid)
		if (snapshot_find(snap, *pid))
			snap->zombies.at[kept++] = *pid;
	snap->zombies.len = kept;
}

static void keep_sheets(struct snapshot *snap, const struct places *to)
{
	size_t kept = 0;

	vec_each(&snap->sheets, sheet) {
		sheet->job = place(to, sheet->job);
		if (sheet->job >= 0)
			snap->sheets.at[kept++] = *sheet;
	}
	snap->sheets.len = kept;
}

static void find_places(const struct snapshot *snap, struct places *to)
{
	int32_t next = 0;

	(void)vec_reserve(&to->of, snap->jobs.len, JOBS_MAX);
	vec_each(&snap->jobs, job)
		to->of.at[to->of.len++] = to->scope->has_job(to->scope->self, job) ? next++ : -1;
}

/* Which sheets run is only known of those that are new: of the rest, one a job. */
static void keep_jobs(struct snapshot *snap, const struct places *to)
{
	size_t kept = 0, was = snap->jobs.len;
	uint32_t running = 0, sheets = 0;

	for (size_t i = 0; i < was; i++) {
		if (to->of.at[i] < 0)
			continue;
		running += snap->jobs.at[i].status == JOB_RUNNING;
		sheets += snap->jobs.at[i].current_sheet != 0;
		snap->jobs.at[kept] = snap->jobs.at[i];
		snap->sums.at[kept++] = snap->sums.at[i];
	}
	snap->jobs.len = snap->sums.len = kept;
	if (kept == was)
		return;
	snap->running_jobs = running;
	snap->active_sheets = sheets;
}

void snapshot_keep(struct snapshot *snap, const struct snapshot_scope *scope)
{
	struct places to = { .scope = scope };

	find_places(snap, &to);
	keep_procs(snap, &to);
	keep_events(snap, &to);
	keep_anomalies(snap, &to);
	keep_gpu_uses(snap, &to);
	keep_zombies(snap);
	keep_sheets(snap, &to);
	keep_jobs(snap, &to);
	vec_done(&to.of);
}
