/* SPDX-License-Identifier: MIT */
/* The additions of a launched job to its snapshots: the end of its command, its control group,
 * limits that were met, its own cost, and what a daemon answered about why it failed. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "engine/jobhost_state.h"
#include "kernel/process_lookup.h"
#include "kernel/user_tasks.h"

#define CHARGE_BATCH_BYTES (64 * 4096) /* how memory is charged */

static void fill_in_totals(const struct jobhost *h, struct event *e)
{
	const struct rusage *u = &h->end.usage;
	uint64_t peak_bytes = (uint64_t)u->ru_maxrss * 1024;
	uint64_t cpu_ns = clock_timeval_ns(u->ru_utime) + clock_timeval_ns(u->ru_stime);

	if (cpu_ns) /* 0: too short for this kernel to count */
		readings_set(&e->final, PROC_CPU_TIME, cpu_ns);
	readings_set(&e->final, PROC_MINOR_FAULTS, (uint64_t)u->ru_minflt);
	readings_set(&e->final, PROC_MAJOR_FAULTS, (uint64_t)u->ru_majflt);
	if (!readings_has(&e->final, PROC_PEAK_RSS)) {
		readings_set(&e->final, PROC_PEAK_RSS, peak_bytes);
		e->is_peak_bound = accounting_is_inherited(&h->watched->accounting, peak_bytes);
	}
	if (!h->end.has_io)
		return;
	readings_set(&e->final, PROC_READ_BYTES, h->end.read_bytes);
	readings_set(&e->final, PROC_WRITE_BYTES, h->end.written_bytes);
}

/* Adds what we know of the command's events and the kernel did not report. */
static void complete_events(void *self, struct snapshot *snap)
{
	struct jobhost *h = self;
	bool knows_totals = jobhost_is_first_to_end(h);

	if (!knows_totals && !h->forwarded.count)
		return;
	vec_each(&snap->events, e) {
		if (e->id.pid != h->command.pid || e->inferred)
			continue;
		if (e->kind == EVENT_EXIT && knows_totals &&
		    !readings_has(&e->final, PROC_CPU_TIME))
			fill_in_totals(h, e);
		else if (e->kind == EVENT_SIGNAL && e->sender_pid == getpid())
			forwarded_signals_name(&h->forwarded, e);
	}
}

/* By how many its processes at one time since the last snapshot exceeded those of now: their births
 * and ends are undone in reverse. A process that ended and was not reaped still counts. */
static uint64_t peak_above_now(const struct jobhost *h, const struct snapshot *snap)
{
	int64_t more = 0, most = 0;

	for (size_t i = snap->events.len; i > 0; i--) {
		const struct event *e = &snap->events.at[i - 1];

		if (e->job != 0 || !e->id.pid)
			continue;
		if (e->kind == EVENT_SPAWN)
			more--;
		else if (e->kind == EVENT_EXIT &&
		         !process_lookup_exists(jobhost_jobs(h)->reader, e->id))
			more++;
		most = MAX(most, more);
	}
	return (uint64_t)most;
}

/* The most tasks that the user had at one time since the last snapshot. A process that is reaped while
 * they are counted would be in neither part: then they are counted again. */
static uint64_t most_user_tasks(const struct jobhost *h, const struct snapshot *snap)
{
	uint64_t ended = peak_above_now(h, snap), seen, tasks;
	int tries = 3;

	do {
		seen = ended;
		tasks = user_tasks_count(h->root_fd, getuid());
		ended = peak_above_now(h, snap);
	} while (ended != seen && --tries);
	return tasks + ended;
}

/* The kernel does not report which fork RLIMIT_NPROC refused, but it can be seen that the limit is
 * reached, or was a moment ago in a job too short to be sampled. */
static void check_user_pids(struct jobhost *h, const struct snapshot *snap)
{
	struct job *job = jobhost_job(h);
	uint64_t most = job->limit[JOB_LIMIT_USER_PIDS];

	if (!most || job->limits_hit >> JOB_LIMIT_USER_PIDS & 1 || most_user_tasks(h, snap) < most)
		return;
	job->limits_hit |= 1u << JOB_LIMIT_USER_PIDS;
	jobhost_emit(h, EVENT_LIMIT, "pids", most,
	             "the user has as many tasks as the limit allows");
}

/* A job within this one may have a group of its own. Where that group counts the kills (v1), ours only
 * shows that it was full. */
static bool is_full_of_nested(const struct jobhost *h)
{
	uint64_t limit = jobhost_job(h)->limit[JOB_LIMIT_MEM];

	return limit && h->watched->accounting.oom_kills &&
	       readings_or(&h->group_readings, CGROUP_MEM_PEAK, 0) + CHARGE_BATCH_BYTES >= limit;
}

static const struct cgroup_readings *measure_group(void *self, const struct snapshot *snap)
{
	struct jobhost *h = self;

	check_user_pids(h, snap);
	if (!h->group)
		return NULL;
	h->group_readings = (struct cgroup_readings){ 0 };
	job_cgroup_read(h->group, &h->group_readings);
	jobhost_job(h)->limits_hit |= job_cgroup_limits_hit(h->group);
	if (is_full_of_nested(h))
		jobhost_job(h)->limits_hit |= 1u << JOB_LIMIT_MEM;
	return &h->group_readings;
}

static void set_own_cost(struct job *job)
{
	struct rusage us;

	getrusage(RUSAGE_SELF, &us);
	job->figures[JOB_FIGURE_SELF_CPU] = (struct figure){ clock_process_cpu_ns(),
		                                             QUALITY_EXACT };
	job->figures[JOB_FIGURE_SELF_RSS] = (struct figure){ (uint64_t)us.ru_maxrss * 1024,
		                                             QUALITY_EXACT };
}

static uint64_t command_ns(const struct jobhost *h)
{
	return h->ended_mono_ns - h->started_mono_ns;
}

/* Until its command ended, or the last leftover that was waited for. */
static uint64_t took_ns(const struct jobhost *h)
{
	uint64_t last_boot_ns = h->watched->accounting.last_exit_boot_ns;

	if (!h->leftover_timer)
		return command_ns(h);
	if (h->watched->leaked) /* the user interrupted the wait */
		return clock_mono_ns() - h->started_mono_ns;
	return command_ns(h) + last_boot_ns - MIN(h->ended_boot_ns, last_boot_ns);
}

static void end_job(struct jobhost *h)
{
	struct job *job = jobhost_job(h);
	struct figure *peak_at = &job->figures[JOB_FIGURE_PEAK_AT];
	const struct job_end how = { .status = jobhost_has_failed(h) ? JOB_FAILED : JOB_COMPLETED,
		                     .has_exit_code = h->end.has_exit_code,
		                     .exit_code = h->end.exit_code,
		                     .signal = h->end.signal,
		                     .core_dumped = h->end.core_dumped,
		                     .ended_ns = job->started_ns + took_ns(h) };

	watched_job_end(h->watched, &how);
	/* Leftovers are sampled once more after the end, and may have grown. */
	peak_at->value = MIN(peak_at->value, job->took_ns);
}

/* The longest time without a tick, including the time before the first and after the last one. Stays 0
 * without a tick: nothing is sampled then. */
static void update_interval(struct jobhost *h, const struct snapshot *snap)
{
	struct job *job = jobhost_job(h);
	uint64_t started_boot_ns = h->watched->accounting.started_boot_ns;
	uint64_t end_boot_ns = started_boot_ns + job->took_ns;

	if (!snap->events_only && !snap->elapsed_ns)
		job->interval_ns = MAX(job->interval_ns,
		                       snap->boot_ns - MIN(snap->boot_ns, started_boot_ns));
	if (!snap->events_only)
		h->sampled_boot_ns = snap->boot_ns;
	if (h->is_last && h->sampled_boot_ns && end_boot_ns > h->sampled_boot_ns)
		job->interval_ns = MAX(job->interval_ns, end_boot_ns - h->sampled_boot_ns);
	if (h->is_last) /* a tick after the end, of leftovers, may be the first */
		job->interval_ns = MIN(job->interval_ns, job->took_ns);
}

static void complete_job(void *self, const struct snapshot *snap)
{
	struct jobhost *h = self;

	if (h->has_ended)
		jobhost_job(h)->figures[JOB_FIGURE_COMMAND_TOOK] = (struct figure){ command_ns(h),
			                                                            QUALITY_EXACT };
	set_own_cost(jobhost_job(h));
	if (h->is_last)
		end_job(h);
	update_interval(h, snap);
}

/* Where the kill was counted for the job alone, no more can be learned. */
static void ask_verdict(struct jobhost *h, const struct cause_facts *facts)
{
	const struct end_facts *known = &h->watched->end_facts;

	if (!h->options.ask_verdict || h->was_asked || facts->sees_ooms || facts->own.kills ||
	    !known->kills)
		return;
	h->was_asked = true;
	h->options.ask_verdict(h->options.self, h->command, known->killed,
	                       MIN(known->kills, (uint64_t)END_FACTS_KILLED), &h->verdict);
}

static void explain_end(void *self, struct cause_facts *facts)
{
	struct jobhost *h = self;

	ask_verdict(h, facts);
	facts->verdict = h->verdict;
}

const struct watched_job_hooks jobhost_hooks = {
	.complete_events = complete_events,
	.measure = measure_group,
	.complete = complete_job,
	.explain = explain_end,
};
