/* SPDX-License-Identifier: MIT */
#include "engine/registry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/watch_target.h"
#include "job/cgroup/own_cgroup.h"
#include "job/parent_job.h"
#include "job/signature.h"
#include "kernel/process_lookup.h"

void registry_begin(struct engine *e)
{
	jobs_begin_adoption(engine_jobs(e));
}

/* ---- a new job ------------------------------------------------------------------------------- */

/* Ended jobs that were published are shown only while there is room: the user's oldest goes. */
static bool remove_oldest(struct jobs *jobs, uint32_t uid)
{
	const struct watched_job *oldest = NULL;

	vec_each(&jobs->roster.rows, row) {
		const struct watched_job *w = (*row)->watched;

		if ((*row)->job.uid == uid && w->ended_mono_ns && w->is_published &&
		    (!oldest || w->ended_mono_ns < oldest->ended_mono_ns))
			oldest = w;
	}
	if (oldest)
		jobs_remove(jobs, oldest->row->job.handle);
	return oldest != NULL;
}

static int check_share(struct jobs *jobs, uint32_t uid, struct err *err)
{
	size_t n = 0;

	vec_each(&jobs->roster.rows, row)
		n += (*row)->job.uid == uid;
	if (uid == 0 || n < REGISTRY_JOBS_PER_UID_MAX || remove_oldest(jobs, uid))
		return 0;
	return err_set(err, ENOSPC, "a user may have %d jobs at a time", REGISTRY_JOBS_PER_UID_MAX);
}

static int make_room(struct jobs *jobs, const struct job *job, struct err *err)
{
	job_handle old = job_roster_find_key(&jobs->roster, job_key_of(job));

	if (old < 0)
		return check_share(jobs, job->uid, err);
	if (job_roster_get(&jobs->roster, old)->job.status == JOB_RUNNING ||
	    !job->is_stored_by_other)
		return err_set(err, EALREADY, "there is a job '%s' already", job->id);
	jobs_remove(jobs, old);
	return 0;
}

/* A job with a recorder of its own decides itself which processes belong to it. */
static void claim_processes(struct jobs *jobs, struct watched_job *w)
{
	const struct job *job = &w->row->job;
	cleanup(freep) char *group = NULL;
	char workspace[JOB_CWD_MAX] = "";

	if (job->has_recorder)
		return;
	if (job->root.pid)
		group = own_cgroup_find(jobs->root_fd, jobs->reader, job->root.pid,
		                        job->registrar.pid);
	(void)signature_workspace_find(job->tags, workspace);
	adoption_claim(jobs->adoption, &jobs->roster, w, group, workspace);
}

/* NULL: there is no room. */
static struct watched_job *add_job(struct jobs *jobs, const struct job *job, struct proc_id root)
{
	struct watched_job *w = jobs_add(jobs, job);

	if (!w)
		return NULL;
	w->row->job.root = root;
	if (!job->started_ns)
		w->row->job.started_ns = clock_wall_ns();
	if (!job->tier[0])
		snprintf(w->row->job.tier, sizeof job->tier, "%s", jobs_describe_sources(jobs));
	claim_processes(jobs, w);
	return w;
}

/* A process is in one job: a second one would take it and its descendants from the first. `checked`: the one whose
 * owner was looked up. */
static int check_root(const struct jobs *jobs, struct proc_id root, struct proc_id checked,
                      struct err *err)
{
	if (!root.start_ticks || !process_lookup_is_alive(jobs->reader, root))
		return process_lookup_describe_failure(jobs->reader, root.pid, err);
	if (checked.start_ticks && checked.start_ticks != root.start_ticks)
		return err_set(err, ENOENT, "process %d ended, and another one has its pid",
		               root.pid);
	vec_each(&jobs->roster.rows, row)
		if ((*row)->job.status == JOB_RUNNING && proc_id_eq((*row)->job.root, root))
			return err_set(err, EALREADY, "process %d already belongs to job '%s'",
			               root.pid, (*row)->job.id);
	return 0;
}

/* It began before we read of it. The end of a process is reported before it can be seen. */
static void add_born(struct engine *e, struct watched_job *w, struct proc_id root)
{
	struct jobs *jobs = engine_jobs(e);
	struct proc_ids ended = { 0 };

	jobs_add_born(jobs, w, root, clock_boot_at(w->row->job.started_ns),
	              sampler_last(engine_sampler(e)), &ended);
	engine_read_events(e);
	jobs_mark_ended(jobs, &ended);
	vec_done(&ended.list);
}

/* An id in the environment, or in a call, may be anybody's: the job of another user is believed only of a
 * process in it. A job that we have by another id than its recorder is named by ours. */
static void find_parent(const struct jobs *jobs, struct job *job)
{
	const struct job *outer;

	if (strchr(job->parent, ':')) /* no id has one: "0:night" would look like root's */
		job->parent[0] = '\0';
	job->has_parent_uid = *job->parent != '\0';
	job->parent_uid = job->uid;
	if (!*job->parent)
		return;
	outer = parent_job_of(jobs, job->root.pid ? job->root.pid : job->registrar.pid);
	if (!outer ||
	    (strcmp(outer->id, job->parent) != 0 && strcmp(outer->recorded_as, job->parent) != 0))
		return;
	memcpy(job->parent, outer->id, sizeof job->parent);
	job->parent_uid = outer->uid;
}

/* When the process began that a job is proven by: its first one, else the one that registered it. One that has ended is
 * in the last sample, or began after the sample before: its call may have waited while the last one was taken. */
static uint64_t proven_since_boot_ns(struct engine *e, const struct job *job)
{
	const struct sample *last = sampler_last(engine_sampler(e));
	struct proc_id id = job->root.pid ? job->root : job->registrar;
	const struct proc_sample *p;
	uint64_t before_ns;

	if (!id.start_ticks)
		process_lookup_find_start(engine_jobs(e)->reader, &id);
	if (id.start_ticks || !last)
		return id.start_ticks * NS_PER_TICK;
	p = sample_find_proc(last, id.pid);
	if (p)
		return p->id.start_ticks * NS_PER_TICK;
	before_ns = sampler_before_last_ns(engine_sampler(e));
	return before_ns ? before_ns : last->boot_ns;
}

uint64_t registry_bound_start(struct engine *e, const struct job *job)
{
	uint64_t now_ns = clock_wall_ns(), now_boot_ns = clock_boot_ns();
	uint64_t age_ns = now_boot_ns - MIN(now_boot_ns, proven_since_boot_ns(e, job));

	if (!job->started_ns)
		return now_ns;
	return MIN(MAX(job->started_ns, now_ns - MIN(now_ns, age_ns)), now_ns);
}

int registry_start(struct engine *e, const struct job *job, pid_t pid, job_handle *ret,
                   struct err *err)
{
	struct jobs *jobs = engine_jobs(e);
	struct proc_id root = { .pid = pid };
	pid_t recorder = job->has_recorder ? job->registrar.pid : 0;
	struct watched_job *w;

	if (pid && watch_target_check_first(jobs->reader, pid, recorder, err) < 0)
		return -err->code;
	process_lookup_find_start(jobs->reader, &root);
	if (pid && check_root(jobs, root, job->root, err) < 0) {
		/* A job with its own recorder is known as that reports it, without figures. */
		if (!job->has_recorder)
			return -err->code;
		root = (struct proc_id){ 0 };
	}
	if (make_room(jobs, job, err) < 0)
		return -err->code;
	w = add_job(jobs, job, root);
	if (!w)
		return err_set(err, ENOSPC, "at most %d jobs can be registered at a time",
		               JOBS_MAX);
	process_lookup_find_start(jobs->reader, &w->row->job.registrar);
	engine_read_events(e);
	find_parent(jobs, &w->row->job);
	*ret = w->row->job.handle;
	if (!job->has_recorder) /* to which it belongs from its start on */
		jobs_leave(jobs, root, sampler_last(engine_sampler(e)));
	if (root.pid)
		jobs_add_tree(jobs, *ret, root, sampler_last(engine_sampler(e)));
	if (root.pid && job->has_recorder)
		add_born(e, w, root);
	if (!job->has_recorder || job->counts_from_now)
		jobs_begin_members(jobs, w, sampler_last(engine_sampler(e)));
	return 0;
}

/* ---- its end --------------------------------------------------------------------------------- */

struct of_job {
	const struct job_roster *roster;
	job_handle job;
};

static bool is_of_job(void *self, struct proc_id id)
{
	const struct of_job *of = self;

	return job_roster_find(of->roster, id).job == of->job;
}

void registry_await_totals(struct engine *e, job_handle job)
{
	struct of_job of = { &engine_jobs(e)->roster, job };

	engine_await_totals(e, is_of_job, &of);
}

bool registry_awaits_totals(struct engine *e, job_handle job)
{
	struct of_job of = { &engine_jobs(e)->roster, job };

	return engine_awaits_totals(e, is_of_job, &of);
}

/* What has ended by now was not left behind, though its totals may not be known yet, or never. */
static void report_ends(struct engine *e, job_handle job)
{
	struct of_job of = { &engine_jobs(e)->roster, job };

	engine_report_ends(e, is_of_job, &of);
}

/* The end of its process may have been published already: then only a correction is news. What another recorder
 * stores, that has to report. */
static void end_job(struct watched_job *w, const struct job_end *how)
{
	struct job *job = &w->row->job;
	const struct job was = *job;

	if (!w->ended_mono_ns)
		w->outlived = w->row->living;
	w->has_outlived = true;
	watched_job_end(w, how);
	if (!job->is_stored_by_other && !job_is_same_end(&was, job))
		job->ends_now = true;
}

int registry_end(struct engine *e, job_handle job, const struct job_end *how, struct err *err)
{
	struct watched_job *w = jobs_get(engine_jobs(e), job);

	if (w->ended_mono_ns && !w->end_is_inferred)
		return err_set(err, EALREADY, "job '%s' ended before", w->row->job.id);
	if (!w->row->job.has_recorder) {
		jobs_close(engine_jobs(e), w, sampler_last(engine_sampler(e)));
		report_ends(e, job);
	}
	end_job(w, how);
	return 0;
}

void registry_lose(struct engine *e, job_handle job)
{
	struct watched_job *w = jobs_get(engine_jobs(e), job);

	if (!w->ended_mono_ns)
		end_job(w, &(struct job_end){ .status = JOB_LOST });
}

/* ---- jobs that an earlier daemon watched ----------------------------------------------------- */

/* Sheets that were stored as lost run again if their job does. */
static void restore_sheets(struct jobs *jobs, struct watched_job *w,
                           const struct registry_past *past)
{
	vec_each(&past->sheets, was) {
		struct sheet *sheet = job_roster_begin_sheet(&jobs->roster, w->row, was->num,
		                                             was->label, was->started_ns);

		if (!sheet)
			break;
		sheet->pid = was->pid;
		sheet->attempt = was->attempt;
		sheet->has_exit_code = was->has_exit_code;
		sheet->exit_code = was->exit_code;
		sheet->signal = was->signal;
		sheet->is_wrapper = was->is_wrapper;
		sheet->own = was->own;
		if (w->is_past || was->status != JOB_LOST)
			job_row_end_sheet(w->row, sheet, was->status, was->ended_ns);
	}
	watched_job_sheets_are_shown(w);
}

/* Its end was not seen; its registrar may still report it. */
static void show_lost(struct jobs *jobs, struct watched_job *w, const struct job *job,
                      const struct registry_past *past)
{
	struct job *shown = &w->row->job;

	shown->status = job->status;
	shown->ended_ns = MAX(job->ended_ns, job->started_ns);
	shown->took_ns = MAX(job->took_ns, shown->ended_ns - job->started_ns);
	w->is_past = w->end_is_inferred = true;
	w->ended_mono_ns = clock_mono_ns();
	restore_sheets(jobs, w, past);
}

/* The usage of its older processes before the job is not known any more: the stored total counts,
 * and what its processes use from now on. */
static void resume_older(struct jobs *jobs, struct watched_job *w, const struct job *job,
                         const struct sample *last)
{
	const struct figure *cpu = &job->figures[JOB_FIGURE_CPU];

	w->accounting.ended_cpu_ns = figure_is_known(*cpu) ? cpu->value : 0;
	jobs_begin_members(jobs, w, last);
}

/* The usage of its process before this daemon started is not known any more. */
static void resume_sheet(struct jobs *jobs, struct watched_job *w, const struct sheet *sheet)
{
	struct proc_id id = { .pid = sheet->pid };
	struct sheet_account *account;
	struct proc_readings now;

	if (!map_get(&jobs->members.living, (uint64_t)id.pid, &id.start_ticks))
		return;
	members_add(&jobs->members, &jobs->roster, id,
	            (struct job_ref){ w->row->job.handle, sheet->num });
	if (sheet->is_wrapper || !process_lookup_usage(jobs->reader, id, &now))
		return;
	account = sheet_accounts_begin(&w->sheet_accounts, sheet->num, id, &now, clock_boot_ns());
	if (!account)
		return;
	account->is_late = account->has_before = true;
	account->before = sheet->own;
}

static void resume_job(struct engine *e, struct watched_job *w, const struct job *job,
                       const struct registry_past *past)
{
	struct jobs *jobs = engine_jobs(e);
	struct accounting *a = &w->accounting;

	/* The first process may have started after the last stored tick. */
	if (past->root.pid)
		jobs_add_tree(jobs, w->row->job.handle, past->root,
		              sampler_last(engine_sampler(e)));
	vec_each(&past->processes, p)
		if (process_lookup_is_alive(jobs->reader, p->id))
			members_add(&jobs->members, &jobs->roster, p->id,
			            (struct job_ref){ w->row->job.handle, p->sheet });
	accounting_resume(a, job, past->ended_cpu_ns);
	gpu_account_resume(&w->gpus, job);
	w->is_resumed = true;
	a->started_boot_ns -= MIN(a->started_boot_ns, clock_wall_ns() - job->started_ns);
	a->counts_from_start = true;
	if (accounting_is_older(a, past->root))
		resume_older(jobs, w, job, sampler_last(engine_sampler(e)));
	w->row->processes += a->exited;
	restore_sheets(jobs, w, past);
	vec_each(&w->row->sheets, sheet)
		if (sheet->status == JOB_RUNNING)
			resume_sheet(jobs, w, sheet);
}

enum registry_restored registry_restore(struct engine *e, const struct job *job,
                                        const struct registry_past *past)
{
	struct jobs *jobs = engine_jobs(e);
	struct proc_id lasts_with = past->root.pid ? past->root : job->registrar;
	bool is_alive = lasts_with.pid && process_lookup_is_alive(jobs->reader, lasts_with);
	struct watched_job *w;

	if (job_roster_find_key(&jobs->roster, job_key_of(job)) >= 0 ||
	    (!is_alive && job->ended_ns < MAX(past->since_ns, clock_wall_ns() - REGISTRY_PAST_NS)))
		return REGISTRY_LEFT;
	w = add_job(jobs, job, past->root);
	if (!w)
		return REGISTRY_LEFT;
	if (is_alive)
		resume_job(e, w, job, past);
	else
		show_lost(jobs, w, job, past);
	return is_alive ? REGISTRY_GOES_ON : REGISTRY_ENDED;
}
