/* SPDX-License-Identifier: MIT */
#include "job/jobs.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "job/allowance.h"
#include "job/cgroup/oom_watch.h"
#include "job/sheet_tree.h"
#include "kernel/process_peek.h"
#include "kernel/process_reader.h"
#include "model/own_program.h"

#define USAGES_MAX 1024          /* processes whose counters are read at a job's start and end */
#define BIRTHS_MAX 20000         /* of a storm; the next scan finds those that are left of it */
#define JITTER_NS 100000000      /* between the counters and the clock */
#define SHOWN_NS (60 * NS_PER_S) /* so long an ended job is shown, for late queries */

struct jobs *jobs_new(struct process_reader *reader)
{
	struct jobs *jobs = xcalloc(1, sizeof *jobs);

	jobs->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	jobs->reader = reader;
	return jobs;
}

void jobs_free(struct jobs *jobs)
{
	if (!jobs)
		return;
	vec_each(&jobs->roster.rows, row)
		watched_job_free((*row)->watched);
	job_roster_done(&jobs->roster);
	members_done(&jobs->members);
	unreaped_done(&jobs->unreaped);
	syscall_account_done(&jobs->syscalls);
	adoption_free(jobs->adoption);
	vec_done(&jobs->births);
	closep(&jobs->root_fd);
	free(jobs);
}

struct watched_job *jobs_add(struct jobs *jobs, const struct job *job)
{
	job_handle handle = job_roster_add(&jobs->roster, job->id, job->type, 0);
	struct job_row *row = job_roster_get(&jobs->roster, handle);

	if (!row)
		return NULL;
	row->job = *job;
	row->job.handle = handle;
	row->job.status = JOB_RUNNING;
	row->watched = xcalloc(1, sizeof *row->watched);
	row->watched->row = row;
	row->watched->accounting.started_boot_ns = clock_boot_ns();
	return row->watched;
}

struct watched_job *jobs_get(const struct jobs *jobs, job_handle job)
{
	const struct job_row *row = job_roster_get(&jobs->roster, job);

	return row ? row->watched : NULL;
}

void jobs_remove(struct jobs *jobs, job_handle job)
{
	watched_job_free(jobs_get(jobs, job));
	job_roster_remove(&jobs->roster, job);
	members_leave(&jobs->members, &jobs->roster);
}

job_handle jobs_find_process(const struct jobs *jobs, pid_t pid)
{
	return members_place(&jobs->members, &jobs->roster, pid).job;
}

void jobs_begin_adoption(struct jobs *jobs)
{
	if (!jobs->adoption)
		jobs->adoption = adoption_new(jobs->root_fd, jobs->reader);
}

const char *jobs_describe_sources(const struct jobs *jobs)
{
	if (jobs->sources.totals)
		return "BPF tracepoints";
	return jobs->sources.births ? "proc connector" : "samples of /proc";
}

/* ---- descendants ----------------------------------------------------------------------------- */

struct kin {
	struct map pids;
	VEC(struct proc_id) list;
};

static void kin_done(struct kin *kin)
{
	map_done(&kin->pids);
	vec_done(&kin->list);
}

static bool kin_add(struct kin *kin, struct proc_id id, pid_t ppid)
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

static bool kin_grows(struct kin *kin, const struct jobs *jobs, const struct sample *last)
{
	bool found = false;

	if (last)
		vec_each(&last->procs, p)
			found |= !own_program_is_helper(p->comm) && kin_add(kin, p->id, p->ppid);
	vec_each(&jobs->births, birth)
		found |= kin_add(kin, birth->id, birth->ppid);
	return found;
}

/* The kernel no longer shows the group of a process that has ended. */
static void set_root(const struct jobs *jobs, struct watched_job *w, struct proc_id root)
{
	if (!w)
		return;
	allowance_find(jobs->root_fd, root.pid, &w->row->job);
	if (w->row->job.is_foreign)
		return;
	w->end_facts.command = root;
	w->memory_group = oom_watch_locate(jobs->root_fd, root.pid);
}

/* Before the first scan it is asked for. */
static void name_of(const struct jobs *jobs, struct proc_id id, const struct sample *last,
                    char ret[static COMM_LEN])
{
	const struct proc_sample *p = last ? sample_find_proc(last, id.pid) : NULL;

	if (p && proc_id_eq(p->id, id))
		memcpy(ret, p->comm, COMM_LEN);
	else
		process_peek_comm(jobs->root_fd, id.pid, ret);
}

/* What it did before it joined the job does not count. */
static void begin_process(struct jobs *jobs, struct watched_job *w, struct proc_id id,
                          const struct sample *last)
{
	struct proc_readings now;
	char comm[COMM_LEN];

	if (!w->accounting.counts_from_start)
		return;
	name_of(jobs, id, last, comm);
	if (process_reader_usage(jobs->reader, id, &now))
		accounting_begin_process(&w->accounting, id, comm, &now);
}

/* The next scan would find those that live so long; many do not. `joined`: the job that counts what they do
 * from now on; NULL: all of it counts, or another baseline is taken. */
static void add_descendants(struct jobs *jobs, struct job_ref ref, struct proc_id root,
                            const struct sample *last, struct watched_job *joined)
{
	unsigned n = 0;
	cleanup(kin_done) struct kin kin = { 0 };

	map_put(&kin.pids, (uint64_t)root.pid, 1);
	while (kin_grows(&kin, jobs, last))
		;
	vec_each(&kin.list, id) {
		if (job_roster_find(&jobs->roster, *id).job >= 0 ||
		    !process_reader_exists(jobs->reader, *id))
			continue;
		members_add(&jobs->members, &jobs->roster, *id, ref);
		if (joined && n++ < USAGES_MAX)
			begin_process(jobs, joined, *id, last);
	}
	jobs->scans_for_descendants = true;
}

/* Descendants of the opener that were born after the sheet began, and learned before we heard of it. The
 * dead are moved, too: events about them are still to be stored. */
void jobs_move_to_sheet(struct jobs *jobs, struct proc_id opener, struct job_ref from,
                        struct job_ref to, uint64_t since_boot_ns, const struct sample *last)
{
	uint64_t since_ticks = since_boot_ns / NS_PER_TICK, living;
	cleanup(kin_done) struct kin kin = { 0 };

	map_put(&kin.pids, (uint64_t)opener.pid, 1);
	while (kin_grows(&kin, jobs, last))
		;
	vec_each(&kin.list, id) {
		struct job_ref now = job_roster_find(&jobs->roster, *id);

		if (now.job != from.job || now.sheet != from.sheet || id->start_ticks < since_ticks)
			continue;
		if (map_get(&jobs->members.living, (uint64_t)id->pid, &living) &&
		    living == id->start_ticks)
			members_add(&jobs->members, &jobs->roster, *id, to);
		else
			job_roster_assign(&jobs->roster, *id, to);
	}
}

void jobs_add_tree(struct jobs *jobs, job_handle job, struct proc_id root,
                   const struct sample *last)
{
	const struct job_ref ref = { .job = job };

	members_add(&jobs->members, &jobs->roster, root, ref);
	set_root(jobs, jobs_get(jobs, job), root);
	add_descendants(jobs, ref, root, last, NULL);
}

/* ---- what its processes used at one instant -------------------------------------------------- */

typedef void (*take_usage_fn)(struct accounting *t, struct proc_id id, const char *comm,
                              const struct proc_readings *now);

/* Reads the members of the job one by one; of a larger crowd, the others are left to the ticks. */
static void read_members(struct jobs *jobs, struct watched_job *w, const struct sample *last,
                         take_usage_fn take)
{
	struct map_slot slot;
	unsigned n = 0;

	for (size_t it = 0; n < USAGES_MAX && map_next(&jobs->members.living, &it, &slot);) {
		struct proc_id id = { (pid_t)slot.key, slot.value };
		struct proc_readings now;
		char comm[COMM_LEN];

		if (job_roster_find(&jobs->roster, id).job != w->row->job.handle)
			continue;
		n++;
		name_of(jobs, id, last, comm);
		if (process_reader_usage(jobs->reader, id, &now))
			take(&w->accounting, id, comm, &now);
	}
}

void jobs_begin_members(struct jobs *jobs, struct watched_job *w, const struct sample *last)
{
	w->accounting.counts_from_start = true;
	read_members(jobs, w, last, accounting_begin_process);
}

void jobs_join(struct jobs *jobs, struct job_ref to, struct proc_id id, const struct sample *last)
{
	struct watched_job *w = jobs_get(jobs, to.job);

	begin_process(jobs, w, id, last);
	add_descendants(jobs, to, id, last, w);
	if (!w->row->job.root.pid) /* the first such process stands for it */
		allowance_find(jobs->root_fd, id.pid, &w->row->job);
}

void jobs_close(struct jobs *jobs, struct watched_job *w, const struct sample *last)
{
	if (w->row->closed_boot_ns)
		return;
	read_members(jobs, w, last, accounting_take_usage);
	w->row->closed_boot_ns = clock_boot_ns();
}

/* ---- before a snapshot is built -------------------------------------------------------------- */

static void note_births(struct jobs *jobs, const struct event *events, size_t n)
{
	for (const struct event *e = events; e < events + n; e++) {
		struct jobs_birth *birth;

		if (e->kind != EVENT_SPAWN || own_program_is_helper(e->comm))
			continue;
		birth = vec_push(&jobs->births, BIRTHS_MAX);
		if (birth)
			*birth = (struct jobs_birth){ e->id, e->ppid };
	}
}

void jobs_learn_events(struct jobs *jobs, const struct sample *s)
{
	if (jobs->learned < s->events.len) {
		const struct event *events = s->events.at + jobs->learned;
		size_t n = s->events.len - jobs->learned;

		if (jobs->adoption)
			note_births(jobs, events, n);
		members_learn(&jobs->members, &jobs->roster, events, n, &jobs->root);
		unreaped_learn(&jobs->unreaped, &jobs->roster, events, n);
	}
	jobs->learned = s->events.len;
}

void jobs_focus(struct jobs *jobs, struct sample *s)
{
	jobs_learn_events(jobs, s);
	vec_reset(&s->focus);
	if (!jobs->roster.rows.len)
		return;
	members_list(&jobs->members, s);
	unreaped_list(&jobs->unreaped, &jobs->roster, s);
	s->tree = jobs->sources.births && !jobs->scans_for_descendants ? 0 : jobs->root.pid;
}

void jobs_learn(struct jobs *jobs, struct sample *s)
{
	bool adopts_children = jobs->roster.rows.len &&
	                       (!s->events_complete || jobs->scans_for_descendants);

	if (s->procs.len)
		vec_reset(&jobs->births); /* not those to be learned now: they may be younger */
	jobs_learn_events(jobs, s);
	if (adopts_children)
		members_adopt(&jobs->members, &jobs->roster, s, &jobs->root);
	if (jobs->adoption && jobs->roster.rows.len && s->procs.len)
		adoption_tick(jobs->adoption, s, &jobs->roster, &jobs->members);
	syscall_account_take(&jobs->syscalls, &jobs->roster, s);
	members_rename(&jobs->members, s);
	vec_each(&jobs->roster.rows, row) {
		const struct watched_job *w = (*row)->watched;

		if (w->hooks && w->hooks->learn)
			w->hooks->learn(w->hooks_self, s);
	}
	if (s->procs.len)
		jobs->scans_for_descendants = false;
	jobs->learned = 0;
}

/* ---- what they used -------------------------------------------------------------------------- */

/* Whether its figures are ours to compute: not those of one that ended before us, or whose recorder reported
 * it when its process was gone. Those of a job whose recorder writes into our store are shown while it runs. */
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
			if (!w->hooks) {
				w->row->closed_boot_ns = e->boot_ns;
				drop_later_births(jobs, snap, e->job, e->boot_ns);
			}
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

static bool has_own_memory(const struct watched_job *w)
{
	return w->group && readings_has(w->group, CGROUP_MEM_USED);
}

bool jobs_need_pss(const struct jobs *jobs)
{
	vec_each(&jobs->roster.rows, row)
		if ((*row)->job.status == JOB_RUNNING && !has_own_memory((*row)->watched))
			return true;
	return false;
}

static void account_processes(struct jobs *jobs, const struct snapshot *snap)
{
	vec_each(&snap->procs, p) {
		struct watched_job *w = job_at(jobs, snap, p->job);

		if (!w || !keeps_accounts(w) || w->row->closed_boot_ns)
			continue;
		accounting_take_process(&w->accounting, p);
		if (!has_own_memory(w))
			job_memory_add(&w->memory, &p->s);
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

static struct figure sampled(uint64_t value)
{
	return (struct figure){ value, QUALITY_SAMPLED };
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

static void measure_memory(const struct jobs *jobs, struct watched_job *w, struct job_sum *sum)
{
	uint64_t used = job_memory_sum(&w->memory);

	if (has_own_memory(w))
		sum->used = sampled(w->group->value[CGROUP_MEM_USED]);
	else if (w->row->processes) /* one that never had any uses nothing that could be shown */
		sum->used = sampled(hold_to_limit(jobs, w, used));
	if (w->group && readings_has(w->group, CGROUP_MEM))
		sum->charged = sampled(w->group->value[CGROUP_MEM]);
}

/* Without hooks it was registered, and its group is not ours to account for. */
static void find_limit(const struct jobs *jobs, const struct watched_job *w,
                       struct cause_facts *facts, struct oom_limit *limit)
{
	if (!facts->ooms || !w->memory_group ||
	    !oom_watch_find_limit(jobs->root_fd, w->memory_group, limit))
		return;
	facts->is_full = true;
	facts->limit_bytes = limit->bytes;
	facts->limit_group = limit->group;
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
	if (w->hooks && w->hooks->explain)
		w->hooks->explain(w->hooks_self, &facts);
	else
		find_limit(jobs, w, &facts, &limit);
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
	if (job->status == JOB_FAILED)
		job->cause = cause;
	if (cause.oom == CAUSE_PROOF_PROVEN && !figure_is_known(*kills))
		*kills = (struct figure){ 1, QUALITY_AT_LEAST };
}

static void compute(const struct jobs *jobs, struct watched_job *w, const struct snapshot *snap)
{
	struct job *job = &w->row->job;

	if (!snap->events_only)
		job->interval_ns = MAX(job->interval_ns, snap->elapsed_ns);
	accounting_figures(&w->accounting,
	                   &(struct accounting_sources){
				   .group = w->group,
				   .births_are_reported = jobs->sources.births,
				   .ooms_are_reported = jobs->sources.totals,
				   .processes = w->row->processes,
				   .living = w->row->living + w->released,
				   .outlived = w->outlived,
				   .has_ended = w->has_outlived,
				   .leaked = w->leaked,
				   .is_over = w->has_leaked,
			   },
	                   job);
	gpu_account_figures(&w->gpus, job);
	if (w->hooks && w->hooks->complete)
		w->hooks->complete(w->hooks_self, snap);
	explain(jobs, w);
	if (w->hooks && w->hooks->show)
		w->hooks->show(w->hooks_self, job);
}

/* How much CPU time is possible in so much time: on all its CPUs, also under a quota, which holds for a whole
 * period. A job that uses more has been allowed more CPUs since it started. */
static uint64_t most_cpu(struct watched_job *w, uint64_t growth, uint64_t elapsed_ns)
{
	uint64_t most = w->row->job.allowed.cpus * elapsed_ns;

	w->exceeds_allowance |= growth > most + JITTER_NS;
	return most && !w->exceeds_allowance ? most
	                                     : elapsed_ns * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
}

/* The CPU time since the last tick, as a share of the time since then. What exceeds the CPUs that the job
 * may run on belongs to other ticks: the counters and the clock are not read at one instant. It is shown
 * with the next ones, so that the shares add up to the total. */
static void spread_cpu(struct watched_job *w, uint64_t boot_ns, struct job_sum *sum)
{
	uint64_t since_ns = w->spread_boot_ns ? w->spread_boot_ns : w->accounting.started_boot_ns;
	uint64_t elapsed_ns = boot_ns - MIN(boot_ns, since_ns), growth, most;

	sum->cpu_ns = w->row->job.figures[JOB_FIGURE_CPU];
	if (!figure_is_known(sum->cpu_ns) || !elapsed_ns)
		return;
	if (w->is_resumed && !w->spread_boot_ns) {
		w->spread_cpu_ns = sum->cpu_ns.value;
		w->spread_boot_ns = boot_ns;
		return;
	}
	growth = sum->cpu_ns.value - MIN(sum->cpu_ns.value, w->spread_cpu_ns);
	most = most_cpu(w, growth, elapsed_ns);
	w->spread_cpu_ns += MIN(growth, most);
	w->spread_boot_ns = boot_ns;
	sum->cpu_ratio = (double)MIN(growth, most) / (double)elapsed_ns;
}

static void measure_groups(struct jobs *jobs, const struct snapshot *snap)
{
	for (int32_t i = 0; (size_t)i < snap->jobs.len; i++) {
		struct watched_job *w = job_at(jobs, snap, i);

		if (w && keeps_accounts(w) && w->hooks && w->hooks->measure)
			w->group = w->hooks->measure(w->hooks_self, snap);
	}
}

static void account_job(const struct jobs *jobs, struct watched_job *w, struct snapshot *snap,
                        int32_t index)
{
	bool is_sampled = (size_t)index < snap->sums.len && !snap->events_only &&
	                  !w->row->closed_boot_ns;
	struct job_sum *sum = is_sampled ? &snap->sums.at[index] : NULL;

	if (sum) {
		measure_memory(jobs, w, sum);
		accounting_take_sum(&w->accounting, snap, index);
		accounting_end_tick(&w->accounting, sum);
		gpu_account_take(&w->gpus, snap, sum);
	}
	compute(jobs, w, snap);
	if (sum)
		spread_cpu(w, snap->boot_ns, sum);
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

/* Sheets whose opener ended in these events fail. Another recorder reports that itself. */
static void close_orphaned_sheets(struct watched_job *w, const struct snapshot *snap, int32_t index)
{
	if (!w->row->job.running_sheets || w->row->job.has_recorder)
		return;
	vec_each(&w->row->sheets, sheet) {
		const struct event *exit = sheet->status == JOB_RUNNING
		                                   ? find_exit(snap, index, sheet)
		                                   : NULL;

		if (!exit)
			continue;
		sheet->signal = exit->signal;
		job_row_end_sheet(w->row, sheet, JOB_FAILED, exit->wall_ns);
		sheet->ends_now = true;
	}
}

static struct sheet *find_shown(struct snapshot *snap, int32_t index, uint32_t num)
{
	vec_each(&snap->sheets, sheet)
		if (sheet->job == index && sheet->num == num)
			return sheet;
	return vec_push(&snap->sheets, SHEETS_MAX);
}

/* Puts sheets into the snapshot that changed after it was built. */
static void show_sheets(struct watched_job *w, struct snapshot *snap, int32_t index)
{
	if (!w->row->has_news)
		return;
	vec_each(&w->row->sheets, sheet) {
		struct sheet *shown = sheet->is_stored ? NULL : find_shown(snap, index, sheet->num);

		if (!shown)
			continue;
		*shown = *sheet;
		shown->job = index;
	}
	watched_job_sheets_are_shown(w);
}

void jobs_figures(struct jobs *jobs, struct snapshot *snap)
{
	if (!jobs->roster.rows.len)
		return;
	if (!snap->events_only)
		unreaped_forget(&jobs->unreaped, &jobs->roster, snap);
	vec_each(&jobs->roster.rows, row)
		watched_job_sheets_are_shown((*row)->watched);
	infer_ends(jobs, snap);
	lose_abandoned(jobs, snap);
	account_events(jobs, snap);
	measure_groups(jobs, snap);
	if (!snap->events_only) {
		account_processes(jobs, snap);
		account_gpu_uses(jobs, snap);
		sheet_tree_take(&jobs->roster, snap);
	}
	syscall_account_show(&jobs->syscalls, &jobs->roster, snap);
	for (int32_t i = 0; (size_t)i < snap->jobs.len; i++) {
		struct watched_job *w = job_at(jobs, snap, i);

		if (!w)
			continue;
		if (w->sheets_end_with_opener)
			close_orphaned_sheets(w, snap, i);
		if (keeps_accounts(w))
			account_job(jobs, w, snap, i);
		syscall_account_figures(&jobs->syscalls, &w->row->job);
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
}

void jobs_expire(struct jobs *jobs)
{
	uint64_t now_ns = clock_mono_ns();

	members_forget(&jobs->members, &jobs->roster, clock_boot_ns());
	for (size_t i = jobs->roster.rows.len; i > 0; i--) {
		const struct watched_job *w = jobs->roster.rows.at[i - 1]->watched;

		if (w->ended_mono_ns && w->is_published && now_ns - w->ended_mono_ns >= SHOWN_NS)
			jobs_remove(jobs, w->row->job.handle);
	}
}
