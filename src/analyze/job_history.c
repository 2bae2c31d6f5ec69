/* SPDX-License-Identifier: MIT */
#include "analyze/job_history.h"

#include "base/mem.h"

#define IDLE_CPU_NS (5 * NS_PER_MS) /* what the kernel itself may account to it */
#define EXAMINE_AFTER_NS (15 * NS_PER_S)
#define EXAMINE_AGAIN_NS (60 * NS_PER_S)

/* Both are in the order in which jobs began, so one walk pairs them. */
static void pair_all(struct job_history *h, const struct snapshot *snap)
{
	struct job_history old = *h;
	size_t at = 0;

	*h = (struct job_history){ .thrash_since_ns = old.thrash_since_ns };
	(void)vec_reserve(&h->trails, snap->jobs.len, JOBS_MAX);
	vec_each(&snap->jobs, job) {
		struct job_trail **slot = vec_push(&h->trails, JOBS_MAX);
		size_t found = at;

		if (!slot)
			break;
		while (found < old.trails.len && old.trails.at[found]->job != job->handle)
			found++;
		if (found < old.trails.len) {
			*slot = TAKE_PTR(old.trails.at[found]);
			for (; at < found; at++)
				free(old.trails.at[at]);
			at++;
		} else {
			*slot = xcalloc(1, sizeof **slot);
			(*slot)->job = job->handle;
		}
	}
	for (; at < old.trails.len; at++)
		free(old.trails.at[at]);
	vec_done(&old.trails);
}

/* The jobs are the same as a tick ago, almost always. */
static bool is_paired(const struct job_history *h, const struct snapshot *snap)
{
	if (h->trails.len != snap->jobs.len)
		return false;
	for (size_t i = 0; i < snap->jobs.len; i++)
		if (h->trails.at[i]->job != snap->jobs.at[i].handle)
			return false;
	return true;
}

double job_history_throttled(const struct snapshot *snap, size_t job, bool owns_group)
{
	struct figure own = snap->jobs.at[job].figures[JOB_FIGURE_CPU_THROTTLED];
	uint64_t around = owns_group ? readings_or(&snap->cgroup, CGROUP_CPU_THROTTLED, 0) : 0;

	return (figure_is_known(own) ? (double)own.value : 0) + (double)around;
}

static void update_idleness(struct job_trail *t, const struct job_sum *sum, uint64_t now_ns)
{
	uint64_t cpu_ns = sum->cpu_ns.value, io_bytes = sum->read.value + sum->written.value;

	if (t->idle_since_ns && figure_is_known(sum->cpu_ns) && cpu_ns >= t->idle_cpu_ns &&
	    cpu_ns - t->idle_cpu_ns <= IDLE_CPU_NS && io_bytes == t->idle_io_bytes)
		return;
	t->idle_since_ns = figure_is_known(sum->cpu_ns) ? now_ns : 0;
	t->idle_cpu_ns = cpu_ns;
	t->idle_io_bytes = io_bytes;
	t->examined_ns = 0;
	t->stall.kind = STALL_NONE;
}

bool job_history_wants_calls(const struct job_history *h, const struct snapshot *snap, size_t job)
{
	const struct job_trail *t = job_history_trail(h, (int32_t)job);

	return t && t->idle_since_ns && snap->boot_ns - t->idle_since_ns >= EXAMINE_AFTER_NS &&
	       snap->jobs.at[job].status == JOB_RUNNING &&
	       (!t->examined_ns || snap->boot_ns - t->examined_ns >= EXAMINE_AGAIN_NS);
}

void job_history_take_calls(struct job_history *h, const struct snapshot *snap, size_t job,
                            const struct blocked_calls *calls, size_t n_processes)
{
	struct job_trail *t = h->trails.at[job];

	t->examined_ns = snap->boot_ns;
	stall_find(calls->list.at, calls->list.len, n_processes, &t->stall);
}

/* The same again, one that is free, or that which was seen least recently. */
static struct disk_trail *disk_of(struct job_trail *t, uint64_t device)
{
	struct disk_trail *oldest = &t->disks[0];

	for (size_t i = 0; i < JOB_DISKS; i++) {
		struct disk_trail *d = &t->disks[i];

		if (d->seen_ns && d->now.device == device)
			return d;
		if (d->seen_ns < oldest->seen_ns)
			oldest = d;
	}
	*oldest = (struct disk_trail){ 0 };
	return oldest;
}

void job_history_take_disk(struct job_history *h, const struct snapshot *snap, const struct disk_use *use)
{
	vec_each(&h->trails, trail) {
		struct disk_trail *d;

		if ((*trail)->job != use->job)
			continue;
		d = disk_of(*trail, use->device);
		d->now = *use;
		d->seen_ns = snap->boot_ns;
		recent_values_add(&d->used, JOB_DISK_WINDOW_NS, snap->boot_ns,
		                  (double)use->total_bytes - (double)use->free_bytes);
		recent_values_add(&d->own, JOB_DISK_WINDOW_NS, snap->boot_ns,
		                  (double)use->own_bytes);
	}
}

static void update_gpu(struct job_trail *t, const struct job_sum *sum, uint64_t now_ns)
{
	bool is_idle = figure_is_known(sum->gpu_memory) && sum->gpu_memory.value &&
	               figure_is_known(sum->gpu_sm) && !sum->gpu_sm.value;

	if (!is_idle)
		t->gpu_idle_since_ns = 0;
	else if (!t->gpu_idle_since_ns)
		t->gpu_idle_since_ns = now_ns;
}

static void update_trail(struct job_trail *t, const struct snapshot *snap, size_t job,
                         bool owns_group)
{
	const struct job_sum *sum = &snap->sums.at[job];
	uint64_t now_ns = snap->boot_ns;

	if (figure_is_known(sum->used))
		recent_values_add(&t->used, JOB_MEMORY_WINDOW_NS, now_ns, (double)sum->used.value);
	recent_values_add(&t->procs, JOB_PROCS_WINDOW_NS, now_ns, sum->procs);
	if (figure_is_known(sum->cpu_ns)) {
		recent_values_add(&t->cpu, JOB_CPU_WINDOW_NS, now_ns, (double)sum->cpu_ns.value);
		recent_values_add(&t->throttled, JOB_CPU_WINDOW_NS, now_ns,
		                  job_history_throttled(snap, job, owns_group));
	}
	update_idleness(t, sum, now_ns);
	update_gpu(t, sum, now_ns);
}

/* Memory that is swapped in and out again shows as time in which tasks wait for memory, while some is swapped out. */
static void update_machine(struct job_history *h, const struct snapshot *snap)
{
	uint64_t total = readings_or(&snap->host, HOST_SWAP_TOTAL, 0);
	bool is_swapped = readings_or(&snap->host, HOST_SWAP_FREE, total) < total;

	if (!is_swapped || !(snap->psi_mem_ratio >= JOB_THRASH_RATIO))
		h->thrash_since_ns = 0;
	else if (!h->thrash_since_ns)
		h->thrash_since_ns = snap->boot_ns;
}

void job_history_feed(struct job_history *h, const struct snapshot *snap,
                      const struct type_history *const *past, bool owns_group)
{
	if (snap->events_only)
		return;
	if (!is_paired(h, snap))
		pair_all(h, snap);
	for (size_t i = 0; i < h->trails.len; i++) {
		h->trails.at[i]->past = past ? past[i] : NULL;
		if (i < snap->sums.len)
			update_trail(h->trails.at[i], snap, i, owns_group);
	}
	update_machine(h, snap);
}

void job_history_done(struct job_history *h)
{
	vec_each(&h->trails, trail)
		free(*trail);
	vec_done(&h->trails);
}

const struct job_trail *job_history_trail(const struct job_history *h, int32_t job)
{
	return job >= 0 && (size_t)job < h->trails.len ? h->trails.at[job] : NULL;
}
