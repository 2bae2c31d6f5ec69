/* SPDX-License-Identifier: MIT */
/* A stage: what the jobs of a snapshot used, from the best source of each figure, and how they ended. */
#include "job/jobs.h"

#include <string.h>
#include <unistd.h>

#include "job/allowance.h"
#include "job/cpu_spread.h"
#include "job/parent_job.h"
#include "job/sheet_tick_figures.h"
#include "kernel/process_lookup.h"
#include "kernel/shm_files.h"
#include "model/snapshot_scope.h"

#define FEW 20 /* a share of the memory in use that makes no difference */
#define UNMAPPED_NOISE_BYTES ((uint64_t)1 << 20)
#define ABOVE_MAX 256 /* a pid may be reused while they are read */
#define GROUP_PIDS_MAX 1024

/* Whether we compute its figures: not for a job that ended before we started, nor for one announced after its
 * process was gone. Jobs whose recorder writes into our store are shown while they run. */
static bool keeps_accounts(const struct watched_job *w)
{
	return !w->is_past && (!w->row->job.has_recorder || w->row->processes);
}

/* The job of that index in the snapshot; NULL: none. */
static struct watched_job *job_at(const struct jobs *jobs, const struct snapshot *snap,
                                  int32_t index)
{
	if (index < 0 || (size_t)index >= snap->jobs.len)
		return NULL;
	return jobs_get(jobs, snap->jobs.at[index].handle);
}

static void complete_events(const struct jobs *jobs, struct snapshot *snap)
{
	vec_each(&jobs->roster.rows, row) {
		const struct watched_job *w = (*row)->watched;

		if (w->hooks && w->hooks->complete_events)
			w->hooks->complete_events(w->hooks_self, snap);
	}
}

/* Its process ended, and how the job did was not reported. */
static void infer_end(struct watched_job *w, const struct event *exit)
{
	bool is_ok = exit->has_exit_code && exit->exit_code == 0;
	bool is_known = exit->has_exit_code || exit->signal;
	const struct job_end how = { .status = is_ok      ? JOB_COMPLETED
		                               : is_known ? JOB_FAILED
		                                          : JOB_LOST,
		                     .has_exit_code = exit->has_exit_code,
		                     .exit_code = exit->exit_code,
		                     .signal = exit->signal,
		                     .ended_ns = exit->wall_ns };

	w->outlived = w->row->living;
	w->has_outlived = true;
	watched_job_end(w, &how);
	w->row->job.ends_now = true;
	w->end_is_inferred = true;
}

/* Its process has ended before them; they were learned in the same batch. */
static void drop_later_births(struct jobs *jobs, const struct snapshot *snap, int32_t index,
                              uint64_t boot_ns)
{
	vec_each(&snap->events, e)
		if (e->kind == EVENT_SPAWN && e->job == index && e->boot_ns > boot_ns)
			members_drop(&jobs->members, &jobs->roster, e->id);
}

/* A job without a first process lasts as long as the one that registered it. */
static bool is_abandoned(const struct watched_job *w, const struct snapshot *snap)
{
	const struct job *job = &w->row->job;
	const struct proc_snap *p;

	if (w->ended_mono_ns || job->root.pid || !job->registrar.pid || job->has_recorder)
		return false;
	p = snapshot_find(snap, job->registrar.pid);
	return !p || !proc_id_eq(p->s.id, job->registrar) || p->s.state == 'Z' || p->s.state == 'X';
}

static void lose_abandoned(struct jobs *jobs, const struct snapshot *snap)
{
	if (snap->events_only || !snap->procs_complete)
		return;
	vec_each(&jobs->roster.rows, row) {
		struct watched_job *w = (*row)->watched;

		if (!is_abandoned(w, snap))
			continue;
		infer_end(w, &(struct event){ .wall_ns = snap->wall_ns });
		w->row->closed_boot_ns = snap->boot_ns;
	}
}

/* The end of a job that has a recorder of its own is for that to report. */
static void infer_ends(struct jobs *jobs, const struct snapshot *snap)
{
	vec_each(&snap->events, e) {
		struct watched_job *w = e->kind == EVENT_EXIT ? job_at(jobs, snap, e->job) : NULL;

		if (w && !w->ended_mono_ns && !w->row->job.has_recorder &&
		    proc_id_eq(w->row->job.root, e->id)) {
			infer_end(w, e);
			w->row->closed_boot_ns = e->boot_ns;
			drop_later_births(jobs, snap, e->job, e->boot_ns);
		}
	}
}

/* Totals come late, but those of before count. */
static bool is_after_close(const struct watched_job *w, const struct event *e)
{
	return w->row->closed_boot_ns && e->kind != EVENT_TOTALS &&
	       e->boot_ns > w->row->closed_boot_ns;
}

static void account_event(struct watched_job *w, const struct event *e)
{
	if (is_after_close(w, e))
		return;
	accounting_take_event(&w->accounting, e);
	if (e->kind == EVENT_EXIT && !proc_id_eq(e->id, w->end_facts.command) &&
	    !proc_id_eq(e->id, w->row->job.root))
		accounting_take_life_peak(&w->accounting, e);
	if (e->kind == EVENT_EXIT)
		watched_job_take_back(w, e->id);
	end_facts_take(&w->end_facts, e);
}

/* That events were lost may concern every job. */
static void account_loss(struct jobs *jobs, const struct event *e)
{
	vec_each(&jobs->roster.rows, row)
		if (keeps_accounts((*row)->watched))
			account_event((*row)->watched, e);
}

/* There may be a thousand jobs, and a snapshot comes with each that begins or ends: one pass over
 * it serves them all. */
static void account_events(struct jobs *jobs, const struct snapshot *snap)
{
	vec_each(&snap->events, e) {
		struct watched_job *w = job_at(jobs, snap, e->job);

		if (w && keeps_accounts(w))
			account_event(w, e);
		else if (!w && e->kind == EVENT_LOSS)
			account_loss(jobs, e);
	}
}

bool jobs_need_pss(const struct jobs *jobs)
{
	vec_each(&jobs->roster.rows, row)
		if ((*row)->job.status == JOB_RUNNING &&
		    !job_usage_counts_memory((*row)->watched->group))
			return true;
	return false;
}

static void account_memory(struct watched_job *w, const struct proc_sample *p)
{
	bool mark_counts = accounting_mark_counts(&w->accounting, p->id,
	                                          readings_or(&p->r, PROC_PEAK_RSS, 0));

	if (job_usage_counts_memory(w->group))
		job_memory_note(&w->memory, p, mark_counts);
	else
		job_memory_add(&w->memory, p, mark_counts);
}

static void account_processes(struct jobs *jobs, const struct snapshot *snap)
{
	vec_each(&snap->procs, p) {
		struct watched_job *w = job_at(jobs, snap, p->job);

		if (!w || !keeps_accounts(w) || w->row->closed_boot_ns)
			continue;
		watched_job_take_back(w, p->s.id);
		accounting_take_process(&w->accounting, p);
		w->tasks += readings_or(&p->s.r, PROC_THREADS, 1);
		if (p->is_joined && !w->row->job.is_stored_by_other)
			sheet_accounts_find(&w->sheet_accounts, w->row, p, snap->boot_ns);
		account_memory(w, &p->s);
	}
}

static void account_gpu_uses(struct jobs *jobs, const struct snapshot *snap)
{
	vec_each(&snap->gpu_uses, use) {
		struct watched_job *w = job_at(jobs, snap, use->job);

		if (w && keeps_accounts(w) && !w->row->closed_boot_ns)
			gpu_account_add(&w->gpus, snap, use);
	}
}

/* The most that the job may use, its own limit or that of a group around it; 0: not known. */
static uint64_t memory_limit(const struct job *job)
{
	if (job->limit[JOB_LIMIT_MEM])
		return job->limit[JOB_LIMIT_MEM];
	return strcmp(job->allowed.memory_source, ALLOWANCE_ULIMIT) ? job->allowed.memory_bytes : 0;
}

/* The pages of one tick are not all read at one instant: their sum may exceed what was ever there at once, but
 * not the limit, which may have been raised since the start. */
static uint64_t hold_to_limit(const struct jobs *jobs, struct watched_job *w, uint64_t used)
{
	uint64_t limit = MAX(memory_limit(&w->row->job), w->memory_limit);

	if (!limit || used <= limit)
		return used;
	w->memory_limit = MAX(limit, allowance_memory_now(jobs->root_fd, w->end_facts.command.pid));
	return MIN(used, w->memory_limit);
}

/* Files in /dev/shm that were written and are not mapped are in no process. Only of a job that we record for its user:
 * the files of everybody would be too many to read. */
static bool lacks_files(const struct jobs *jobs, const struct watched_job *w, uint64_t used)
{
	uint64_t written;

	if (!w->is_launched)
		return false;
	written = shm_files_changed(jobs->root_fd, geteuid(), w->row->job.started_ns);
	return written > w->memory.shmem.sum_bytes + MAX(used / FEW, UNMAPPED_NOISE_BYTES);
}

/* One that never had any processes uses nothing that could be shown. */
static struct figure memory_used(const struct jobs *jobs, struct watched_job *w,
                                 const struct snapshot *snap)
{
	uint64_t used;

	if (job_usage_counts_memory(w->group)) {
		used = job_memory_take_sum(&w->memory, w->group->value[CGROUP_MEM_USED],
		                           readings_or(w->group, CGROUP_MEM, 0));
		return (struct figure){ used, QUALITY_SAMPLED };
	}
	used = job_memory_sum(&w->memory, readings_or(&snap->host, HOST_MEM_SHARED, UINT64_MAX));
	if (!w->row->processes)
		return (struct figure){ 0 };
	return (struct figure){ hold_to_limit(jobs, w, used),
		                lacks_files(jobs, w, used) ? QUALITY_AT_LEAST : QUALITY_SAMPLED };
}

static void take_used_at_mark(const struct jobs *jobs, struct watched_job *w, uint64_t used,
                              uint64_t boot_ns)
{
	const struct figure f = { hold_to_limit(jobs, w, used), QUALITY_SAMPLED };

	if (used)
		accounting_take_used(&w->accounting, f, boot_ns);
}

/* A process that grows until its end is not seen by a tick, but the kernel keeps a high-water mark
 * of each. */
static void account_marks(const struct jobs *jobs, const struct snapshot *snap)
{
	vec_each(&snap->events, e) {
		struct watched_job *w = e->kind == EVENT_EXIT ? job_at(jobs, snap, e->job) : NULL;
		uint64_t mark = readings_or(&e->final, PROC_PEAK_RSS, 0);
		uint64_t faults = readings_or(&e->final, PROC_MINOR_FAULTS, 0);

		if (w && keeps_accounts(w) && !is_after_close(w, e) && !e->is_peak_bound &&
		    accounting_mark_counts(&w->accounting, e->id, mark))
			take_used_at_mark(jobs, w,
			                  job_memory_at_mark(&w->memory, e->id, mark, faults),
			                  e->boot_ns);
	}
}

/* wait4 returns the largest of all marks at the end, but not whose it is. */
static void account_last_mark(const struct jobs *jobs, struct watched_job *w, uint64_t boot_ns)
{
	uint64_t mark = accounting_reaped_peak(&w->accounting);

	if (mark)
		take_used_at_mark(jobs, w, job_memory_at_largest_mark(&w->memory, mark), boot_ns);
}

static bool has_kills(const struct watched_job *w, const struct cause_facts *facts)
{
	return w->end_facts.kills || facts->ooms || facts->own.kills || facts->group.kills ||
	       facts->machine.kills;
}

/* The job's own limit, or that of a group around it. */
static void find_limit(const struct watched_job *w, struct cause_facts *facts,
                       struct oom_limit *limit)
{
	const struct job *job = &w->row->job;

	if (job->limits_hit >> JOB_LIMIT_MEM & 1) {
		facts->is_full = true;
		facts->limit_bytes = job->limit[JOB_LIMIT_MEM];
	} else if (w->oom && has_kills(w, facts) && oom_watch_find_limit(w->oom, limit)) {
		facts->is_full = true;
		facts->limit_bytes = limit->bytes;
		facts->limit_group = limit->group;
	}
}

/* Kills that were counted in its own group, and in the one that it was started in. */
static void add_counts(const struct watched_job *w, struct cause_facts *facts)
{
	if (w->group && readings_has(w->group, CGROUP_OOM_KILLS))
		facts->own = (struct cause_count){ true, w->group->value[CGROUP_OOM_KILLS] };
	if (w->oom)
		*(w->oom->is_of_machine
		          ? &facts->machine
		          : &facts->group) = (struct cause_count){ w->oom->is_known, w->oom_kills,
			                                           w->oom->is_shared };
}

static void judge(const struct jobs *jobs, const struct watched_job *w, struct cause *ret)
{
	struct oom_limit limit;
	struct cause_facts facts;

	end_facts_summarize(&w->end_facts, &facts);
	facts.signal = w->row->job.signal;
	facts.ends_are_seen = jobs->sources.births && !w->end_facts.lost;
	facts.sees_ooms = jobs->sources.totals && !w->end_facts.lost;
	facts.sent_source = jobs->sources.totals ? CAUSE_SOURCE_BPF : CAUSE_SOURCE_RECORDER;
	add_counts(w, &facts);
	find_limit(w, &facts, &limit);
	if (w->hooks && w->hooks->explain)
		w->hooks->explain(w->hooks_self, &facts);
	cause_judge(&facts, ret);
}

static void explain(const struct jobs *jobs, struct watched_job *w)
{
	struct job *job = &w->row->job;
	struct figure *kills = &job->figures[JOB_FIGURE_OOM_KILLS];
	bool lost_process = job->status == JOB_COMPLETED &&
	                    job->figures[JOB_FIGURE_SIGNALLED].value;
	struct cause cause = { 0 };

	if (job->status != JOB_FAILED && !lost_process)
		return;
	judge(jobs, w, &cause); /* again with each snapshot: events that explain it may come late */
	cause_merge(&cause, &w->announced_cause);
	if (job->status == JOB_FAILED)
		job->cause = cause;
	if (cause.oom == CAUSE_PROOF_PROVEN && !figure_is_known(*kills))
		*kills = (struct figure){ 1, QUALITY_AT_LEAST };
}

static void compute(const struct jobs *jobs, struct watched_job *w,
                    const struct job_usage_sources *from, const struct snapshot *snap)
{
	struct job *job = &w->row->job;

	if (!snap->events_only)
		job->interval_ns = MAX(job->interval_ns, snap->elapsed_ns);
	job_usage_figures(&w->usage, &w->accounting, from, job);
	gpu_account_figures(&w->gpus, job);
	if (w->hooks && w->hooks->complete)
		w->hooks->complete(w->hooks_self, snap);
	if (job->status != JOB_RUNNING) /* it may have ended since they were computed */
		job->figures[JOB_FIGURE_USED] = (struct figure){ 0 };
	explain(jobs, w);
}

static bool is_above(const struct jobs *jobs, pid_t pid, pid_t below)
{
	struct process_files_stat st;

	for (int i = 0; i < ABOVE_MAX && below > 1; i++) {
		if (!process_lookup_stat(jobs->reader, below, &st))
			return false;
		below = st.ppid;
		if (below == pid)
			return true;
	}
	return false;
}

/* The recorder, its helpers, and what the job was started by. */
static bool is_around(const struct jobs *jobs, struct watched_job *w, pid_t pid,
                      const struct process_files_stat *st)
{
	struct oom_watch *oom = w->oom;

	if (pid != getpid() && st->ppid != getpid() && !is_above(jobs, pid, getpid()) &&
	    !is_above(jobs, pid, w->end_facts.command.pid))
		return false;
	if (oom->n_around < OOM_AROUND_MAX)
		oom->around[oom->n_around++] = pid;
	return true;
}

static bool is_known_around(const struct oom_watch *oom, pid_t pid)
{
	for (size_t i = 0; i < oom->n_around; i++)
		if (oom->around[i] == pid)
			return true;
	return false;
}

/* The job may have a process that is younger than the snapshot. */
static bool is_of_others(const struct jobs *jobs, struct watched_job *w,
                         const struct snapshot *snap, pid_t pid)
{
	const struct proc_snap *p = snapshot_find(snap, pid);
	struct process_files_stat st;

	return !(p && job_at(jobs, snap, p->job) == w) && !is_known_around(w->oom, pid) &&
	       process_lookup_stat(jobs->reader, pid, &st) && !is_around(jobs, w, pid, &st) &&
	       parent_job_of(jobs, pid) != &w->row->job;
}

static void look_for_others(const struct jobs *jobs, struct watched_job *w,
                            const struct snapshot *snap)
{
	pid_t pids[GROUP_PIDS_MAX];
	size_t n;

	if (w->oom->is_shared || snap->events_only || !jobs->reader)
		return;
	n = oom_watch_list(w->oom, pids, GROUP_PIDS_MAX);
	for (size_t i = 0; i < n && !w->oom->is_shared; i++)
		w->oom->is_shared = is_of_others(jobs, w, snap, pids[i]);
}

/* Kills are counted for all in the group: only those about the time when a member was killed, or the job ended,
 * matter. */
static void watch_oom(struct watched_job *w, const struct snapshot *snap)
{
	struct figure peak = w->row->job.figures[JOB_FIGURE_PEAK_USED];
	uint64_t kills = w->end_facts.kills, counted;
	bool is_over = snap->is_last || (w->ended_mono_ns && !w->is_published);

	if (kills == w->seen_kills && !is_over && (snap->events_only || w->is_published))
		return;
	counted = oom_watch_read(w->oom, figure_is_known(peak) ? peak.value : 0, snap->boot_ns);
	if (kills != w->seen_kills || is_over)
		w->oom_kills = MAX(w->oom_kills, counted);
	w->seen_kills = kills;
}

static void measure_groups(struct jobs *jobs, const struct snapshot *snap)
{
	for (int32_t i = 0; (size_t)i < snap->jobs.len; i++) {
		struct watched_job *w = job_at(jobs, snap, i);

		if (!w || !keeps_accounts(w))
			continue;
		if (w->oom && !jobs->sources.totals) {
			look_for_others(jobs, w, snap);
			watch_oom(w, snap);
		}
		if (w->hooks && w->hooks->measure)
			w->group = w->hooks->measure(w->hooks_self, snap);
	}
}

static struct job_usage_sources sources_of(const struct jobs *jobs, const struct watched_job *w)
{
	return (struct job_usage_sources){
		.group = w->group,
		.births_are_reported = jobs->sources.births,
		.ooms_are_reported = jobs->sources.totals,
		.processes = w->row->processes,
		.living = w->row->living + w->released,
		.outlived = w->outlived,
		.has_ended = w->has_outlived,
		.leaked = w->leaked,
		.is_over = w->has_leaked,
	};
}

static void end_tick(const struct jobs *jobs, struct watched_job *w, const struct snapshot *snap)
{
	accounting_end_tick(&w->accounting);
	job_usage_take_memory(&w->usage, w->group, memory_used(jobs, w, snap));
	accounting_take_used(&w->accounting, w->usage.used, snap->boot_ns);
	take_used_at_mark(jobs, w, job_memory_between(&w->memory), snap->boot_ns);
}

static void show_sum(struct watched_job *w, const struct snapshot *snap, struct job_sum *sum)
{
	sum->used = w->usage.used;
	sum->charged = w->usage.charged;
	sum->read = w->usage.read;
	sum->written = w->usage.written;
	cpu_spread_take(w, snap->boot_ns, sum);
}

/* The part of the time since the previous tick in which the machine did not sleep and no tick was
 * missed: what happened in the rest is not known. */
static uint64_t watched_time(const struct snapshot *snap)
{
	uint64_t lost_ns = 0;

	vec_each(&snap->events, e)
		if ((e->kind == EVENT_GAP || e->kind == EVENT_SUSPEND) && e->count > 0)
			lost_ns += MIN((uint64_t)e->count, snap->elapsed_ns);
	return snap->elapsed_ns - MIN(lost_ns, snap->elapsed_ns);
}

static void account_job(const struct jobs *jobs, struct watched_job *w, struct snapshot *snap,
                        int32_t index, uint64_t watched_ns)
{
	bool is_sampled = (size_t)index < snap->sums.len && !snap->events_only &&
	                  !w->row->closed_boot_ns;
	struct job_sum *sum = is_sampled ? &snap->sums.at[index] : NULL;
	const struct job_usage_sources from = sources_of(jobs, w);

	cpu_spread_count_tasks(w);
	if (sum) {
		end_tick(jobs, w, snap);
		gpu_account_take(&w->gpus, snap, watched_ns, sum);
	}
	if (!jobs->sources.totals)
		account_last_mark(jobs, w, snap->boot_ns);
	job_usage_update(&w->usage, &w->accounting, &from);
	compute(jobs, w, &from, snap);
	if (sum)
		show_sum(w, snap, sum);
}

static const struct event *find_exit(const struct snapshot *snap, int32_t index,
                                     const struct sheet *sheet)
{
	vec_each(&snap->events, e)
		if (e->kind == EVENT_EXIT && e->job == index && e->id.pid == sheet->pid &&
		    e->wall_ns >= sheet->started_ns)
			return e;
	return NULL;
}

/* Sheets whose opener ended in these events end with it: if it went well, it never closed them. Another
 * recorder reports that itself. */
static void close_orphaned_sheets(struct watched_job *w, const struct snapshot *snap, int32_t index)
{
	if (!w->row->job.running_sheets || w->row->job.has_recorder)
		return;
	vec_each(&w->row->sheets, sheet) {
		const struct event *exit = sheet->status == JOB_RUNNING
		                                   ? find_exit(snap, index, sheet)
		                                   : NULL;
		bool is_good;

		if (!exit)
			continue;
		is_good = exit->has_exit_code && exit->exit_code == 0;
		sheet->signal = exit->signal;
		job_row_end_sheet(w->row, sheet, is_good ? JOB_LOST : JOB_FAILED, exit->wall_ns);
		sheet->ends_now = true;
	}
}

/* Among the first `n`, which are in the order of the roster: *at is where the one before was. */
static struct sheet *find_shown(struct snapshot *snap, size_t n, int32_t index, uint32_t num,
                                size_t *at)
{
	for (size_t i = 0; i < n; i++) {
		size_t here = (*at + i) % n;

		if (snap->sheets.at[here].job == index && snap->sheets.at[here].num == num) {
			*at = here;
			return &snap->sheets.at[here];
		}
	}
	return vec_push(&snap->sheets, SHEETS_MAX);
}

/* Puts sheets into the snapshot that changed after it was built. */
static void show_sheets(struct watched_job *w, struct snapshot *snap, int32_t index)
{
	size_t built = snap->sheets.len, at = 0;

	if (!w->row->has_news)
		return;
	vec_each(&w->row->sheets, sheet) {
		struct sheet *shown = sheet->is_shown
		                              ? NULL
		                              : find_shown(snap, built, index, sheet->num, &at);
		bool ends_now;

		if (!shown)
			continue;
		ends_now = shown->ends_now || sheet->ends_now;
		*shown = *sheet;
		shown->job = index;
		shown->ends_now = ends_now;
	}
	watched_job_sheets_are_shown(w);
}

void jobs_figures(struct jobs *jobs, struct snapshot *snap)
{
	uint64_t watched_ns;

	if (!jobs->roster.rows.len)
		return;
	if (!snap->events_only)
		unreaped_forget(&jobs->unreaped, &jobs->roster, snap);
	vec_each(&jobs->roster.rows, row)
		watched_job_sheets_are_shown((*row)->watched);
	complete_events(jobs, snap);
	infer_ends(jobs, snap);
	lose_abandoned(jobs, snap);
	account_events(jobs, snap);
	measure_groups(jobs, snap);
	if (jobs->sources.totals)
		account_marks(jobs, snap);
	if (!snap->events_only) {
		account_processes(jobs, snap);
		account_gpu_uses(jobs, snap);
		sheet_tick_figures_take(&jobs->roster, snap);
	}
	watched_ns = watched_time(snap);
	syscall_account_show(&jobs->syscalls, &jobs->roster, snap);
	flight_account_show(&jobs->flights, &jobs->roster, snap);
	for (int32_t i = 0; (size_t)i < snap->jobs.len; i++) {
		struct watched_job *w = job_at(jobs, snap, i);

		if (!w)
			continue;
		if (w->sheets_end_with_opener)
			close_orphaned_sheets(w, snap, i);
		if (keeps_accounts(w))
			account_job(jobs, w, snap, i, watched_ns);
		syscall_account_figures(&jobs->syscalls, w->is_launched, &w->row->job);
		if (w->sheet_accounts.len) {
			sheet_accounts_take(&w->sheet_accounts, snap);
			sheet_accounts_settle(&w->sheet_accounts, w->row, snap->boot_ns);
		}
		show_sheets(w, snap, i);
		w->is_published = w->ended_mono_ns != 0;
		snap->jobs.at[i] = w->row->job;
		w->row->job.ends_now = false;
		if (w->row->closed_boot_ns)
			w->released += members_release(&jobs->members, &jobs->roster,
			                               w->row->job.handle);
	}
	snapshot_scope_count_jobs(snap);
}

void jobs_gather_past(const struct jobs *jobs, const struct snapshot *snap,
                      struct type_histories *ret)
{
	vec_reset(ret);
	for (int32_t i = 0; (size_t)i < snap->jobs.len; i++) {
		const struct watched_job *w = job_at(jobs, snap, i);
		const struct type_history **slot = vec_push(ret, JOBS_MAX);

		if (slot)
			*slot = w ? w->past : NULL;
	}
}
