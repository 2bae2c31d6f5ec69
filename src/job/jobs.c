/* SPDX-License-Identifier: MIT */
#include "job/jobs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "job/allowance.h"
#include "kernel/process_peek.h"
#include "kernel/process_lookup.h"

#define USAGES_MAX 1024          /* processes whose counters are read at a job's start and end */
#define BIRTHS_MAX 20000         /* of a storm; the next scan finds those that are left of it */

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
	flight_account_done(&jobs->flights);
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

void jobs_set_past(struct jobs *jobs, job_handle job, const struct type_history *past)
{
	struct watched_job *w = jobs_get(jobs, job);

	if (!w)
		return;
	if (!w->past)
		w->past = xcalloc(1, sizeof *w->past);
	*w->past = *past;
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

static bool descendants_add(struct kin *kin, struct proc_id id, pid_t ppid)
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
			found |= descendants_add(kin, p->id, p->ppid);
	vec_each(&jobs->births, birth)
		found |= descendants_add(kin, birth->id, birth->ppid);
	return found;
}

/* The kernel no longer shows the group of a process that has ended. */
static void set_root(const struct jobs *jobs, struct watched_job *w, struct proc_id root)
{
	if (!w)
		return;
	allowance_find(jobs->root_fd, root.pid, &w->row->job);
	if (w->row->job.is_stored_by_other)
		return;
	w->end_facts.command = root;
	watched_job_watch_oom(w, jobs->root_fd, root.pid);
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

static void begin_in_sheet(struct jobs *jobs, struct watched_job *w, struct proc_id id)
{
	struct job_ref ref = job_roster_find(&jobs->roster, id);
	struct proc_readings now;

	if (ref.is_joined && !w->row->job.is_stored_by_other &&
	    process_lookup_usage(jobs->reader, id, &now))
		sheet_accounts_join(&w->sheet_accounts, ref.sheet, id, &now, clock_boot_ns());
}

/* Its usage before it joined the job, or the sheet, does not count. */
static void begin_process(struct jobs *jobs, struct watched_job *w, struct proc_id id,
                          const struct sample *last)
{
	struct job_ref ref = job_roster_find(&jobs->roster, id);
	struct proc_readings now;
	char comm[COMM_LEN];

	if (!process_lookup_usage(jobs->reader, id, &now))
		return;
	if (ref.is_joined && !w->row->job.is_stored_by_other)
		sheet_accounts_join(&w->sheet_accounts, ref.sheet, id, &now, clock_boot_ns());
	if (!w->accounting.counts_from_start)
		return;
	name_of(jobs, id, last, comm);
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
		    !process_lookup_exists(jobs->reader, *id))
			continue;
		members_add(&jobs->members, &jobs->roster, *id, ref);
		if (joined && n++ < USAGES_MAX)
			begin_process(jobs, joined, *id, last);
	}
	jobs->scans_for_descendants = true;
}

/* Ends that were stored already belong to no job: then the count of ends is too low. */
void jobs_add_born(struct jobs *jobs, struct watched_job *w, struct proc_id root,
                   uint64_t since_boot_ns, const struct sample *last, struct proc_ids *ret)
{
	const struct job_ref ref = { .job = w->row->job.handle };
	cleanup(kin_done) struct kin kin = { 0 };
	struct proc_id *ended;
	uint64_t is_kin;

	if (!last || last->boot_ns > since_boot_ns || jobs->lacks_births)
		w->accounting.lost = true;
	map_put(&kin.pids, (uint64_t)root.pid, 1);
	while (kin_grows(&kin, jobs, last))
		;
	vec_each(&jobs->births, birth) {
		job_handle now = job_roster_find(&jobs->roster, birth->id).job;

		if (birth->boot_ns < since_boot_ns || proc_id_eq(birth->id, root) ||
		    !map_get(&kin.pids, (uint64_t)birth->id.pid, &is_kin) ||
		    (now >= 0 && now != ref.job))
			continue;
		if (now < 0)
			members_add(&jobs->members, &jobs->roster, birth->id, ref);
		ended = process_lookup_is_alive(jobs->reader, birth->id)
		                ? NULL
		                : vec_push(&ret->list, BIRTHS_MAX);
		if (ended)
			*ended = birth->id;
	}
}

void jobs_mark_ended(struct jobs *jobs, const struct proc_ids *ended)
{
	vec_each(&ended->list, id)
		members_mark_ended(&jobs->members, &jobs->roster, *id, clock_boot_ns());
}

/* Descendants of the opener that were born after the sheet began, and learned before it was reported. The
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

/* Whether the process is in no sheet of this job, or in one that was opened without a process and
 * is over. */
static bool is_free_for_sheet(const struct job_row *row, struct job_ref now)
{
	const struct sheet *sheet = now.sheet ? job_row_sheet(row, now.sheet) : NULL;

	return now.job == row->job.handle &&
	       (!sheet || (!sheet->pid && sheet->status != JOB_RUNNING));
}

void jobs_gather_in_sheet(struct jobs *jobs, struct watched_job *w, uint32_t num)
{
	const struct job_ref to = { w->row->job.handle, num };
	VEC(struct proc_id) free_ones = { 0 };
	struct map_slot slot;

	for (size_t it = 0; map_next(&jobs->members.living, &it, &slot);) {
		const struct proc_id id = { (pid_t)slot.key, slot.value };
		struct proc_id *added = is_free_for_sheet(w->row,
		                                          job_roster_find(&jobs->roster, id))
		                                ? vec_push(&free_ones, USAGES_MAX)
		                                : NULL;

		if (added)
			*added = id;
	}
	vec_each(&free_ones, id) {
		members_add(&jobs->members, &jobs->roster, *id, to);
		begin_in_sheet(jobs, w, *id);
	}
	vec_done(&free_ones);
}

void jobs_leave(struct jobs *jobs, struct proc_id id, const struct sample *last)
{
	struct watched_job *w = jobs_get(jobs, job_roster_find(&jobs->roster, id).job);
	struct proc_readings now;
	char comm[COMM_LEN];
	bool is_read;

	if (!w)
		return;
	if (!w->row->closed_boot_ns) {
		watched_job_take_back(w, id);
		is_read = process_lookup_usage(jobs->reader, id, &now);
		name_of(jobs, id, last, comm);
		accounting_leave(&w->accounting, id, comm, is_read ? &now : NULL);
		sheet_accounts_leave(&w->sheet_accounts, id, is_read ? &now : NULL,
		                     clock_boot_ns());
	}
	members_part(&jobs->members, &jobs->roster, id);
	w->released++;
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
		if (process_lookup_usage(jobs->reader, id, &now))
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

	watched_job_take_back(w, id);
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

		if (e->kind != EVENT_SPAWN)
			continue;
		birth = vec_push(&jobs->births, BIRTHS_MAX);
		if (birth)
			*birth = (struct jobs_birth){ e->id, e->ppid, e->boot_ns };
		jobs->lacks_births |= !birth;
	}
}

void jobs_learn_events(struct jobs *jobs, const struct sample *s)
{
	if (jobs->learned < s->events.len) {
		const struct event *events = s->events.at + jobs->learned;
		size_t n = s->events.len - jobs->learned;

		if (jobs->adoption) {
			note_births(jobs, events, n);
			if (jobs->roster.rows.len)
				adoption_learn(jobs->adoption, events, n);
		}
		members_learn(&jobs->members, &jobs->roster, events, n, &jobs->root);
		unreaped_learn(&jobs->unreaped, &jobs->roster, events, n);
	}
	jobs->learned = s->events.len;
}

void jobs_focus(struct jobs *jobs, const struct sample *s, struct sample_request *to)
{
	jobs_learn_events(jobs, s);
	vec_reset(&to->focus);
	if (!jobs->roster.rows.len)
		return;
	members_list(&jobs->members, to);
	unreaped_list(&jobs->unreaped, &jobs->roster, to);
	to->tree = jobs->sources.births && !jobs->scans_for_descendants ? 0 : jobs->root.pid;
}

/* The command of a job that was registered without one: that of its first process. That one may have been so
 * young that no tick had seen it, or had yet to execute its program. */
static void learn_command(struct job *job, const struct sample *s)
{
	const struct proc_sample *p = sample_find_proc(s, job->root.pid);
	struct text_ref command = { 0 };

	vec_each(&s->events, e)
		if (e->kind == EVENT_EXEC && proc_id_eq(e->id, job->root) && e->text.len)
			command = e->text;
	if (!command.len && p && proc_id_eq(p->id, job->root))
		command = p->command;
	if (command.len && s->text.at[command.at] != '[') /* "[name]": it has none, or is ending */
		snprintf(job->command, sizeof job->command, "%.*s", (int)command.len,
		         s->text.at + command.at);
}

static void learn_commands(struct jobs *jobs, const struct sample *s)
{
	vec_each(&jobs->roster.rows, row) {
		struct job *job = &(*row)->job;

		if (!job->command[0] && job->root.pid && job->status == JOB_RUNNING)
			learn_command(job, s);
	}
}

void jobs_learn(struct jobs *jobs, const struct sample *s)
{
	bool adopts_children = jobs->roster.rows.len &&
	                       (!s->events_complete || jobs->scans_for_descendants);

	if (s->procs.len) { /* not those to be learned now: they may be younger */
		vec_reset(&jobs->births);
		jobs->lacks_births = false;
	}
	jobs_learn_events(jobs, s);
	members_correct(&jobs->members, &jobs->roster, s);
	if (adopts_children)
		members_adopt(&jobs->members, &jobs->roster, s, &jobs->root);
	if (jobs->adoption && jobs->roster.rows.len && s->procs.len)
		adoption_tick(jobs->adoption, s, &jobs->roster, &jobs->members);
	syscall_account_take(&jobs->syscalls, &jobs->roster, &jobs->members, s);
	flight_account_take(&jobs->flights, &jobs->roster, s);
	learn_commands(jobs, s);
	if (s->procs.len)
		jobs->scans_for_descendants = false;
	jobs->learned = 0;
}

void jobs_expire(struct jobs *jobs)
{
	uint64_t now_ns = clock_mono_ns();

	members_forget(&jobs->members, &jobs->roster, clock_boot_ns());
	for (size_t i = jobs->roster.rows.len; i > 0; i--) {
		const struct watched_job *w = jobs->roster.rows.at[i - 1]->watched;

		if (w->ended_mono_ns && w->is_published &&
		    now_ns - w->ended_mono_ns >= JOB_ENDED_SHOWN_NS)
			jobs_remove(jobs, w->row->job.handle);
	}
}
