/* SPDX-License-Identifier: MIT */
#include "engine/jobhost_self.h"

#include <unistd.h>

#include "base/clock.h"
#include "kernel/process_reader.h"
#include "kernel/user_tasks.h"

#define CHARGE_BATCH_BYTES (64 * 4096) /* how memory is charged */

static void put_self(struct job *job)
{
	struct rusage us;

	getrusage(RUSAGE_SELF, &us);
	job->figures[JOB_FIGURE_SELF_CPU] = (struct figure){ clock_process_cpu_ns(),
		                                             QUALITY_EXACT };
	job->figures[JOB_FIGURE_SELF_RSS] = (struct figure){ (uint64_t)us.ru_maxrss * 1024,
		                                             QUALITY_EXACT };
}

/* A job within this one may have a group of its own, and where that counts the kills (v1) it is
 * only seen that ours was full. */
static bool is_full_of_nested(const struct jobhost *h, const struct job *job,
                              const struct cgroup_readings *group)
{
	uint64_t limit = job->limit[JOB_LIMIT_MEM];

	return limit && h->tally.oom_kills &&
	       readings_or(group, CGROUP_MEM_PEAK, 0) + CHARGE_BATCH_BYTES >= limit;
}

static void put_figures(struct jobhost *h, struct job *job)
{
	struct members *members = engine_members(h->engine);
	struct cgroup_readings group = { 0 };
	struct accounting_sources from = {
		.group = h->group ? &group : NULL,
		.processes = members->total,
		.living = members->living.len,
		.births_are_told = sampler_tells_births(engine_sampler(h->engine)),
		.ooms_are_told = sampler_tells_totals(engine_sampler(h->engine)),
		.outlived = h->outlived,
		.leaked = h->leaked,
		.has_ended = h->has_ended && h->ended_in_time, /* else we ended all at once */
		.is_over = h->is_last,
	};

	if (h->group) {
		job_cgroup_read(h->group, &group);
		job->limits_hit |= job_cgroup_limits_hit(h->group);
		if (is_full_of_nested(h, job, &group))
			job->limits_hit |= 1u << JOB_LIMIT_MEM;
	}
	accounting_figures(&h->tally, &from, job);
	if (h->has_ended)
		job->figures[JOB_FIGURE_COMMAND_TOOK] = (struct figure){
			h->ended_mono_ns - h->started_mono_ns, QUALITY_EXACT
		};
	put_self(job);
}

/* Until its command ended, or the last of those that were waited for. */
static uint64_t took_ns(const struct jobhost *h)
{
	uint64_t command_ns = h->ended_mono_ns - h->started_mono_ns;

	if (!h->leftover_timer)
		return command_ns;
	if (h->leaked) /* and still are there, because somebody would not wait */
		return clock_mono_ns() - h->started_mono_ns;
	return command_ns + h->tally.last_exit_boot_ns -
	       MIN(h->ended_boot_ns, h->tally.last_exit_boot_ns);
}

static void put_end(struct jobhost *h, struct job *job)
{
	struct figure *peak_at = &job->figures[JOB_FIGURE_PEAK_AT];
	bool is_ok = h->end.has_exit_code && h->end.exit_code == 0;

	job->status = is_ok ? JOB_COMPLETED : JOB_FAILED;
	job->has_exit_code = h->end.has_exit_code;
	job->exit_code = h->end.exit_code;
	job->signal = h->end.signal;
	job->core_dumped = h->end.core_dumped;
	job->took_ns = took_ns(h);
	job->ended_ns = job->started_ns + job->took_ns;
	job->current_sheet = 0;
	/* What is left behind is looked at once more after the end, of which that look tells. */
	peak_at->value = MIN(peak_at->value, job->took_ns);
}

/* When nobody ended before the command, it has reaped nobody: it took just what wait4 told of it,
 * and told at once. */
static bool is_first_to_end(struct jobhost *h)
{
	return h->has_ended && engine_members(h->engine)->total == 1 + h->outlived;
}

static void fill_in_totals(struct jobhost *h, struct event *e)
{
	const struct rusage *u = &h->end.usage;

	readings_set(&e->final, PROC_CPU_TIME,
	             clock_timeval_ns(u->ru_utime) + clock_timeval_ns(u->ru_stime));
	readings_set(&e->final, PROC_MINOR_FAULTS, (uint64_t)u->ru_minflt);
	readings_set(&e->final, PROC_MAJOR_FAULTS, (uint64_t)u->ru_majflt);
	if (!readings_has(&e->final, PROC_PEAK_RSS))
		readings_set(&e->final, PROC_PEAK_RSS, (uint64_t)u->ru_maxrss * 1024);
	if (!h->end.has_io)
		return;
	readings_set(&e->final, PROC_READ_BYTES, h->end.read_bytes);
	readings_set(&e->final, PROC_WRITE_BYTES, h->end.written_bytes);
}

bool jobhost_cares(void *self, struct proc_id id)
{
	struct jobhost *h = self;

	return jobtab_find(engine_jobs(h->engine), id).job >= 0 &&
	       !(is_first_to_end(h) && id.pid == h->end.pid);
}

static const struct event *find_end(const struct snapshot *snap, const struct sheet *sheet)
{
	vec_each(&snap->events, e)
		if (e->kind == EVENT_EXIT && e->job == 0 && e->id.pid == sheet->pid &&
		    e->wall_ns >= sheet->started_ns)
			return e;
	return NULL;
}

/* As it is now, in the snapshot that tells why. */
static void show_sheet(struct snapshot *snap, struct sheet *sheet)
{
	struct sheet *shown = NULL;

	vec_each(&snap->sheets, s)
		if (s->job == sheet->job && s->num == sheet->num)
			shown = s;
	if (!shown)
		shown = vec_push(&snap->sheets, SHEETS_MAX);
	if (!shown)
		return;
	*shown = *sheet;
	sheet->is_stored = true;
}

/* Whoever opened a sheet and died could not close it. */
static void close_orphaned_sheets(struct jobhost *h, struct snapshot *snap)
{
	struct jobtab *jobs = engine_jobs(h->engine);

	vec_each(&jobs->sheets, sheet) {
		const struct event *end = sheet->status == JOB_RUNNING ? find_end(snap, sheet)
		                                                       : NULL;

		if (!end)
			continue;
		sheet->signal = end->signal;
		jobtab_end_sheet(jobs, sheet, JOB_FAILED, end->wall_ns);
		show_sheet(snap, sheet);
	}
}

/* Nobody closed them while the job ran. */
static void close_open_sheets(struct jobhost *h, struct snapshot *snap, uint64_t ended_ns)
{
	struct jobtab *jobs = engine_jobs(h->engine);

	vec_each(&jobs->sheets, sheet) {
		if (sheet->status != JOB_RUNNING)
			continue;
		jobtab_end_sheet(jobs, sheet, JOB_FAILED, MAX(ended_ns, sheet->started_ns));
		show_sheet(snap, sheet);
	}
}

/* How many more of its processes were there at one time since the last snapshot than are now: told
 * by their births and ends, gone through backwards. Who ended and was not reaped is still there. */
static uint64_t crowd_that_went(const struct jobhost *h, const struct snapshot *snap)
{
	int64_t more = 0, most = 0;

	for (size_t i = snap->events.len; i > 0; i--) {
		const struct event *e = &snap->events.at[i - 1];

		if (e->job != 0 || !e->id.pid)
			continue;
		if (e->kind == EVENT_SPAWN)
			more--;
		else if (e->kind == EVENT_EXIT &&
		         !process_reader_exists(engine_process_reader(h->engine), e->id))
			more++;
		most = MAX(most, more);
	}
	return (uint64_t)most;
}

/* The kernel does not tell whom RLIMIT_NPROC refused a fork: that it is full can be seen, or was
 * full a moment ago, in a job that is too short to be looked at. */
static void watch_user_pids(struct jobhost *h, struct job *job, const struct snapshot *snap)
{
	uint64_t most = job->limit[JOB_LIMIT_USER_PIDS];
	struct err err;

	if (!most || job->limits_hit >> JOB_LIMIT_USER_PIDS & 1 ||
	    user_tasks_count(h->root_fd, getuid()) + crowd_that_went(h, snap) < most)
		return;
	job->limits_hit |= 1u << JOB_LIMIT_USER_PIDS;
	(void)!jobhost_say(h, EVENT_LIMIT, "pids", (int64_t)most,
	                   "the user has as many tasks as the limit allows", &err);
}

/* Before the first one nothing was seen since the job began. */
static uint64_t since_last_look(const struct jobhost *h, const struct snapshot *snap)
{
	if (snap->elapsed_ns)
		return snap->elapsed_ns;
	return snap->boot_ns - MIN(snap->boot_ns, h->tally.started_boot_ns);
}

/* The longest time in which nobody looked, that after the last look included. Without any look
 * nothing is sampled. */
static void put_interval(struct jobhost *h, struct job *job, const struct snapshot *snap)
{
	uint64_t end_boot_ns = h->tally.started_boot_ns + job->took_ns;

	if (!snap->events_only) {
		job->interval_ns = MAX(job->interval_ns, since_last_look(h, snap));
		h->looked_boot_ns = snap->boot_ns;
	}
	if (h->is_last && h->looked_boot_ns && end_boot_ns > h->looked_boot_ns)
		job->interval_ns = MAX(job->interval_ns, end_boot_ns - h->looked_boot_ns);
}

/* Before a snapshot is stored: the job in it gets its figures, so that a recorder that is killed
 * has told all up to the last tick. */
void jobhost_on_snapshot(void *self, struct snapshot *snap)
{
	struct jobhost *h = self;
	struct job *job = the_job(h);

	if (is_first_to_end(h))
		vec_each(&snap->events, e)
			if (e->kind == EVENT_EXIT && e->id.pid == h->end.pid &&
			    !readings_has(&e->final, PROC_CPU_TIME))
				fill_in_totals(h, e);
	vec_each(&snap->events, e) /* the command's birth: two clocks, but one moment */
		if (e->kind == EVENT_SPAWN && e->boot_ns == h->tally.started_boot_ns)
			e->wall_ns = job->started_ns;
	jobhost_name_origins(h, snap);
	close_orphaned_sheets(h, snap);
	accounting_feed(&h->tally, snap, 0);
	watch_user_pids(h, job, snap);
	put_figures(h, job);
	if (h->is_last) {
		put_end(h, job);
		close_open_sheets(h, snap, job->ended_ns);
	}
	put_interval(h, job, snap);
	if (snap->jobs.len)
		snap->jobs.at[0] = *job;
}
