/* SPDX-License-Identifier: MIT */
#include "model/snapshot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/infer.h"

void snapshot_reset(struct snapshot *snap)
{
	struct snapshot kept = { .text = snap->text };

	buf_relax(&kept.text);
#define X(container, name)                                                                         \
	kept.name = snap->name;                                                                    \
	vec_relax(&kept.name);
	SNAPSHOT_LISTS(X)
#undef X
	*snap = kept;
}

void snapshot_done(struct snapshot *snap)
{
#define X(container, name) vec_done(&snap->name);
	SNAPSHOT_LISTS(X)
#undef X
	buf_done(&snap->text);
}

static int by_pid(const void *key, const void *member)
{
	const pid_t *pid = key;
	const struct proc_snap *p = member;

	return (*pid > p->s.id.pid) - (*pid < p->s.id.pid);
}

bool snapshot_has_end(const struct snapshot *snap)
{
	vec_each(&snap->jobs, job)
		if (job->ends_now)
			return true;
	return false;
}

const struct proc_snap *snapshot_find(const struct snapshot *snap, pid_t pid)
{
	return snap->procs.len ? bsearch(&pid, snap->procs.at, snap->procs.len,
	                                 sizeof *snap->procs.at, by_pid)
	                       : NULL;
}

int32_t snapshot_find_job(const struct snapshot *snap, job_handle job)
{
	for (size_t i = 0; job >= 0 && i < snap->jobs.len; i++)
		if (snap->jobs.at[i].handle == job)
			return (int32_t)i;
	return -1;
}

const struct syscall_owner *snapshot_find_caller(const struct snapshot *snap, struct proc_id id)
{
	size_t low = 0, high = snap->callers.len;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct syscall_owner *at = &snap->callers.at[mid];

		if (proc_id_eq(at->id, id))
			return at;
		if (at->id.pid && proc_key(at->id) < proc_key(id))
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

const char *snapshot_string(const struct snapshot *snap, struct text_ref ref)
{
	return ref.len ? snap->text.at + ref.at : "";
}

/* Growth of one counter of a process; its whole life counts when it began after the previous
 * sample. */
static double proc_rate(const struct proc_sample *prev, const struct proc_sample *cur,
                        enum proc_metric id, bool born_since, uint64_t elapsed_ns)
{
	if (!readings_has(&cur->r, id))
		return NAN;
	if (prev && readings_has(&prev->r, id))
		return metric_rate_per_s(prev->r.value[id], cur->r.value[id], elapsed_ns);
	return born_since ? metric_rate_per_s(0, cur->r.value[id], elapsed_ns) : NAN;
}

static void add_to_sum(struct job_sum *sum, const struct proc_snap *p)
{
	sum->procs++;
	sum->rss_bytes += readings_or(&p->s.r, PROC_RSS, 0);
}

/* The counter and the clock are not read at one instant, and /proc counts in ticks of 10 ms: over a
 * short interval a thread may seem to use more than there is, and so may threads together. */
static double possible_ratio(double ratio, const struct proc_sample *prev,
                             const struct proc_sample *cur, unsigned cpus)
{
	uint64_t threads = MAX(readings_or(&cur->r, PROC_THREADS, 1),
	                       prev ? readings_or(&prev->r, PROC_THREADS, 1) : 1);

	if (cpus)
		threads = MIN(threads, cpus);
	return ratio > (double)threads ? (double)threads : ratio;
}

static void add_zombie(struct snapshot *snap, pid_t pid)
{
	pid_t *zombie = vec_push(&snap->zombies, PROCS_MAX);

	if (zombie)
		*zombie = pid;
}

static void add_proc(struct snapshot *snap, const struct sample *prev_sample,
                     const struct proc_sample *prev, const struct proc_sample *cur, unsigned cpus,
                     struct job_ref ref)
{
	uint64_t start_ns = cur->id.start_ticks * NS_PER_TICK;
	/* The start is rounded down to a tick: one that began in the tick of the previous sample is
	 * young enough. */
	bool born_since = prev_sample && start_ns + NS_PER_TICK > prev_sample->boot_ns;
	struct proc_snap *p = &snap->procs.at[snap->procs.len++];

	p->s = *cur;
	p->cpu_ratio = possible_ratio(
		proc_rate(prev, cur, PROC_CPU_TIME, born_since, snap->elapsed_ns) / 1e9, prev, cur,
		cpus);
	p->read_bytes_per_s = proc_rate(prev, cur, PROC_READ_BYTES, born_since, snap->elapsed_ns);
	p->write_bytes_per_s = proc_rate(prev, cur, PROC_WRITE_BYTES, born_since, snap->elapsed_ns);
	p->age_ns = snap->boot_ns > start_ns ? snap->boot_ns - start_ns : 0;
	p->job = ref.job;
	p->sheet = ref.sheet;
	p->is_joined = ref.is_joined;
	if (ref.job < 0)
		return;
	add_to_sum(&snap->sums.at[ref.job], p);
	if (cur->state == 'Z')
		add_zombie(snap, cur->id.pid);
}

/* Where a process belongs, by the index of the job in the snapshot. */
static struct job_ref find_job(const struct job_roster *jobs, struct proc_id id)
{
	struct job_ref ref = job_roster_find(jobs, id);

	ref.job = job_roster_index(jobs, ref.job);
	return ref;
}

/* Both samples are in the order of pids, so one walk pairs them. */
static void build_procs(struct snapshot *snap, const struct sample *prev, const struct sample *cur,
                        const struct job_roster *jobs, bool jobs_only)
{
	size_t i = 0;

	if (!vec_reserve(&snap->procs, cur->procs.len, PROCS_MAX))
		return;
	vec_each(&cur->procs, p) {
		const struct proc_sample *before = NULL;
		struct job_ref ref = find_job(jobs, p->id);

		if (jobs_only && ref.job < 0)
			continue;
		while (prev && i < prev->procs.len && prev->procs.at[i].id.pid < p->id.pid)
			i++;
		if (prev && i < prev->procs.len && proc_id_eq(prev->procs.at[i].id, p->id))
			before = &prev->procs.at[i];
		add_proc(snap, prev, before, p, cur->cpus, ref);
	}
}

static double host_share(const struct sample *prev, const struct sample *cur, enum host_metric part)
{
	const struct host_readings *a = &prev->host, *b = &cur->host;
	uint64_t total;

	if (!readings_has(a, part) || !readings_has(b, part) || !readings_has(a, HOST_CPU_TOTAL) ||
	    !readings_has(b, HOST_CPU_TOTAL) || b->value[part] < a->value[part] ||
	    b->value[HOST_CPU_TOTAL] <= a->value[HOST_CPU_TOTAL])
		return NAN;
	total = b->value[HOST_CPU_TOTAL] - a->value[HOST_CPU_TOTAL];
	return fmin(1.0, (double)(b->value[part] - a->value[part]) / (double)total);
}

/* A counter of time as a share of the time that passed: PSI, the recorder's own CPU. */
static double time_ratio(const struct host_readings *prev, const struct host_readings *cur,
                         enum host_metric id, uint64_t elapsed_ns)
{
	if (!readings_has(prev, id) || !readings_has(cur, id))
		return NAN;
	return metric_rate_per_s(prev->value[id], cur->value[id], elapsed_ns) / 1e9;
}

/* The kernel adds up the time of a wait when it is over, or when it updates its averages. */
static double stall_ratio(const struct host_readings *prev, const struct host_readings *cur,
                          enum host_metric id, uint64_t elapsed_ns)
{
	double ratio = time_ratio(prev, cur, id, elapsed_ns);

	return ratio > 1 ? 1 : ratio;
}

void snapshot_set_stalls(struct snapshot *snap, const struct host_readings *prev,
                         const struct host_readings *cur, uint64_t elapsed_ns)
{
	snap->psi_cpu_ratio = stall_ratio(prev, cur, HOST_PSI_CPU_SOME, elapsed_ns);
	snap->psi_mem_ratio = stall_ratio(prev, cur, HOST_PSI_MEM_SOME, elapsed_ns);
	snap->psi_io_ratio = stall_ratio(prev, cur, HOST_PSI_IO_SOME, elapsed_ns);
}

static void build_host(struct snapshot *snap, const struct sample *prev, const struct sample *cur)
{
	snap->host = cur->host;
	snap->cgroup = cur->cgroup;
	snap->limit_groups = cur->limit_groups;
	if (readings_has(&cur->host, HOST_MEM_TOTAL) &&
	    readings_has(&cur->host, HOST_MEM_AVAILABLE) &&
	    cur->host.value[HOST_MEM_AVAILABLE] <= cur->host.value[HOST_MEM_TOTAL])
		readings_set(&snap->host, HOST_MEM_USED,
		             cur->host.value[HOST_MEM_TOTAL] - cur->host.value[HOST_MEM_AVAILABLE]);
	snap->cpu_busy_ratio = snap->cpu_iowait_ratio = snap->cpu_steal_ratio =
		snap->self_cpu_ratio = NAN;
	snap->psi_cpu_ratio = snap->psi_mem_ratio = snap->psi_io_ratio = NAN;
	if (!prev)
		return;
	snap->cpu_iowait_ratio = host_share(prev, cur, HOST_CPU_IOWAIT);
	snap->cpu_steal_ratio = host_share(prev, cur, HOST_CPU_STEAL);
	snap->cpu_busy_ratio = 1.0 - host_share(prev, cur, HOST_CPU_IDLE) - snap->cpu_iowait_ratio;
	if (snap->cpu_busy_ratio < 0) /* rounding; fmax() would make a zero of NAN */
		snap->cpu_busy_ratio = 0;
	snap->self_cpu_ratio = time_ratio(&prev->host, &cur->host, HOST_SELF_CPU, snap->elapsed_ns);
	snapshot_set_stalls(snap, &prev->host, &cur->host, snap->elapsed_ns);
}

static void add_gpu_use(struct snapshot *snap, const struct gpu_use *use, struct job_ref ref)
{
	struct gpu_use *copy = vec_push(&snap->gpu_uses, GPU_USES_MAX);

	if (!copy)
		return;
	*copy = *use;
	copy->job = ref.job;
	copy->sheet = ref.sheet;
}

uint64_t snapshot_hold_to_job(const struct job *job, uint64_t wall_ns)
{
	bool is_early = wall_ns < job->started_ns && job->started_ns - wall_ns < 2 * NS_PER_TICK;

	return is_early ? job->started_ns : wall_ns;
}

static void build_gpus(struct snapshot *snap, const struct sample *cur,
                       const struct job_roster *jobs, bool jobs_only)
{
	vec_copy(&snap->gpus, &cur->gpus);
	vec_each(&cur->gpu_uses, use) {
		struct job_ref ref = { .job = -1 };

		if (use->gpu >= snap->gpus.len)
			continue;
		gpu_load_add(&snap->gpus.at[use->gpu].all, use);
		if (!use->has_host_pid)
			ref = find_job(jobs, use->id);
		if (!jobs_only || ref.job >= 0)
			add_gpu_use(snap, use, ref);
	}
}

static void build_sheets(struct snapshot *snap, const struct job_row *row, int32_t index)
{
	if (!row->has_news)
		return;
	vec_each(&row->sheets, sheet) {
		struct sheet *copy = sheet->is_shown ? NULL : vec_push(&snap->sheets, SHEETS_MAX);

		if (!copy)
			continue;
		*copy = *sheet;
		copy->job = index;
	}
}

static void build_jobs(struct snapshot *snap, const struct job_roster *jobs)
{
	if (!jobs->rows.len || !vec_reserve(&snap->jobs, jobs->rows.len, JOBS_MAX) ||
	    !vec_reserve(&snap->sums, jobs->rows.len, JOBS_MAX))
		return;
	snap->jobs.len = snap->sums.len = jobs->rows.len;
	for (size_t i = 0; i < jobs->rows.len; i++) {
		const struct job_row *row = jobs->rows.at[i];

		snap->jobs.at[i] = row->job;
		snap->sums.at[i] = (struct job_sum){ .cpu_ratio = NAN };
		build_sheets(snap, row, (int32_t)i);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return (x->boot_ns > y->boot_ns) - (x->boot_ns < y->boot_ns);
}

/* Whether all processes on the GPU are known: then a job without one has nothing to do with it. */
static bool knows_users(const struct sample *s, uint32_t index)
{
	vec_each(&s->gpus, gpu)
		if (gpu->index == index && gpu->knows_processes)
			return true;
	return false;
}

/* Only what happened to processes of jobs, to GPUs that they may use, or to no process at all. */
static void drop_outside_jobs(struct snapshot *snap, const struct sample *prev,
                              const struct sample *cur)
{
	size_t kept = 0;

	vec_each(&snap->events, e) {
		bool is_elsewhere = e->kind == EVENT_GPU && (knows_users(cur, e->gpu) ||
		                                             (prev && knows_users(prev, e->gpu)));

		if (e->job >= 0 || (e->id.pid == 0 && !is_elsewhere))
			snap->events.at[kept++] = *e;
	}
	snap->events.len = kept;
}

/* Starts are known in ticks, and clocks are read one after the other: nothing of a job happened
 * before it began. */
static void hold_to_job(const struct snapshot *snap, struct event *e)
{
	uint64_t began_ns;

	if (e->job < 0 || (size_t)e->job >= snap->jobs.len)
		return;
	began_ns = snapshot_hold_to_job(&snap->jobs.at[e->job], e->wall_ns);
	e->boot_ns += began_ns - e->wall_ns;
	e->wall_ns = began_ns;
}

/* Whether a process of the job is on that GPU. */
static bool is_on_gpu(const struct sample *s, const struct job_roster *jobs, int32_t job,
                      uint32_t index)
{
	vec_each(&s->gpu_uses, use)
		if (!use->has_host_pid && use->gpu < s->gpus.len &&
		    s->gpus.at[use->gpu].index == index && find_job(jobs, use->id).job == job)
			return true;
	return false;
}

/* An event of a GPU concerns each job that uses it, or did a tick ago: the fault may have ended its
 * process. Without any, it is an event of the machine. */
static void give_gpu_event(struct snapshot *snap, size_t at, const struct sample *prev,
                           const struct sample *cur, const struct job_roster *jobs)
{
	struct event e = snap->events.at[at], *copy;
	size_t given = 0;

	for (int32_t job = 0; (size_t)job < snap->jobs.len; job++) {
		if (!is_on_gpu(cur, jobs, job, e.gpu) &&
		    !(prev && is_on_gpu(prev, jobs, job, e.gpu)))
			continue;
		copy = given++ ? vec_push(&snap->events, EVENTS_MAX) : &snap->events.at[at];
		if (!copy)
			return;
		*copy = e;
		copy->job = job;
	}
}

/* Those that are added meanwhile have their jobs. */
static void assign_gpu_events(struct snapshot *snap, const struct sample *prev,
                              const struct sample *cur, const struct job_roster *jobs)
{
	size_t n = snap->events.len;

	for (size_t i = 0; i < n; i++)
		if (snap->events.at[i].kind == EVENT_GPU)
			give_gpu_event(snap, i, prev, cur, jobs);
}

static void build_events(struct snapshot *snap, const struct sample *prev, const struct sample *cur,
                         const struct job_roster *jobs, bool jobs_only)
{
	vec_copy(&snap->events, &cur->events);
	if (prev)
		infer_clocks(prev, cur, snap);
	if (prev && !cur->events_complete)
		infer_births_and_ends(prev, cur, snap);
	vec_each(&snap->events, e) {
		if (!e->wall_ns)
			e->wall_ns = cur->wall_ns - (cur->boot_ns - e->boot_ns);
		if (e->id.pid != 0) {
			struct job_ref ref = find_job(jobs, e->id);

			e->job = ref.job;
			e->sheet = ref.sheet;
			e->is_joined = ref.is_joined;
		} else { /* its emitter set the job */
			e->job = job_roster_index(jobs, e->job);
		}
		hold_to_job(snap, e);
	}
	assign_gpu_events(snap, prev, cur, jobs);
	if (jobs_only)
		drop_outside_jobs(snap, prev, cur);
	if (snap->events.len)
		qsort(snap->events.at, snap->events.len, sizeof *snap->events.at, by_time);
}

static void build_frame(struct snapshot *snap, const struct sample *cur,
                        const struct snapshot_origin *origin)
{
	snapshot_reset(snap);
	snap->seq = origin->seq;
	snap->recorder_pid = origin->pid;
	snap->wall_ns = cur->wall_ns;
	snap->boot_ns = cur->boot_ns;
	snap->uptime_ns = cur->boot_ns - origin->started_boot_ns;
	memcpy(snap->boot_id, cur->boot_id, sizeof snap->boot_id);
	snap->procs_complete = cur->procs_complete;
	snap->events_complete = cur->events_complete;
	if (cur->text.len)
		buf_put(&snap->text, cur->text.at, cur->text.len);
}

void snapshot_build(const struct sample *prev, const struct sample *cur,
                    const struct job_roster *jobs, const struct snapshot_origin *origin,
                    struct snapshot *ret)
{
	build_frame(ret, cur, origin);
	ret->elapsed_ns = prev && cur->boot_ns > prev->boot_ns ? cur->boot_ns - prev->boot_ns : 0;
	build_jobs(ret, jobs);
	build_host(ret, prev, cur);
	build_procs(ret, prev, cur, jobs, origin->jobs_only);
	build_gpus(ret, cur, jobs, origin->jobs_only);
	build_events(ret, prev, cur, jobs, origin->jobs_only);
}

void snapshot_build_events(const struct sample *cur, const struct job_roster *jobs,
                           const struct snapshot_origin *origin, struct snapshot *ret)
{
	build_frame(ret, cur, origin);
	ret->events_only = true;
	build_jobs(ret, jobs);
	build_events(ret, NULL, cur, jobs, origin->jobs_only);
}
