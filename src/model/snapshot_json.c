/* SPDX-License-Identifier: MIT */
#include "model/snapshot_json.h"

#include <math.h>
#include <pthread.h>

#include "base/mem.h"
#include "model/record_fields.h"

static void put_percent(struct json *j, const char *key, double ratio)
{
	json_put_double(j, key, ratio * 100, 2);
}

/* Rates of ours are left out when they are not known; SPEC's cpu_percent is null then. */
static void put_rate(struct json *j, const char *key, double per_s)
{
	if (!isfinite(per_s))
		return;
	json_put_double(j, key, per_s, 1);
}

static void put_seconds(struct json *j, const char *key, uint64_t ns)
{
	json_put_fixed(j, key, ns / NS_PER_US, 6);
}

static void put_ordinal(struct json *j, const char *key, uint64_t n)
{
	json_key(j, key);
	if (n)
		json_u64(j, n);
	else
		json_nil(j);
}

/* Most processes have no job: for them, its user is left out. */
static void put_job(struct json *j, const struct snapshot *snap, int32_t job, uint32_t sheet)
{
	json_put_str(j, "job_id", job >= 0 ? snap->jobs.at[job].id : NULL);
	if (job >= 0)
		json_put_u64(j, "job_uid", snap->jobs.at[job].uid);
	put_ordinal(j, "sheet_num", job >= 0 ? sheet : 0);
}

/* ---- processes, jobs and events -------------------------------------------------------------- */

static void put_syscalls(struct json *j, const struct snapshot *snap, struct proc_id id)
{
	const struct syscall_owner *of = snapshot_find_caller(snap, id);
	const struct syscall_count *counts = of ? snap->syscalls.at + of->at : NULL;
	size_t n = of ? of->len : 0;

	json_key(j, "syscall_counts");
	syscall_counts_json_calls(j, counts, n);
	json_key(j, "syscall_time_pct");
	syscall_counts_json_shares(j, counts, n);
}

/* `job` is p's, or -1 where that may not be shown. */
static void put_process(struct json *j, const struct snapshot *snap, const struct proc_snap *p,
                        int32_t job)
{
	json_begin_object(j);
	json_put_i64(j, "pid", p->s.id.pid);
	json_put_i64(j, "ppid", p->s.ppid);
	json_key(j, "command");
	json_strn(j, snapshot_text(snap, p->s.command), p->s.command.len);
	json_key(j, "state");
	json_strn(j, &p->s.state, 1);
	put_percent(j, "cpu_percent", p->cpu_ratio);
	readings_json(j, proc_metrics, PROC_METRIC_COUNT, p->s.r.present, p->s.r.value);
	put_seconds(j, "age_seconds", p->age_ns);
	put_job(j, snap, job, p->sheet);
	put_syscalls(j, snap, p->s.id);
	json_put_u64(j, "uid", p->s.uid);
	put_rate(j, "read_bytes_per_s", p->read_bytes_per_s);
	put_rate(j, "write_bytes_per_s", p->write_bytes_per_s);
	json_end_object(j);
}

static void encode_process(struct json *j, const struct snapshot *snap, size_t index)
{
	const struct proc_snap *p = &snap->procs.at[index];

	put_process(j, snap, p, p->job);
}

static void encode_job(struct json *j, const struct snapshot *snap, size_t index)
{
	const struct job *job = &snap->jobs.at[index];

	json_begin_object(j);
	json_put_str(j, "job_id", job->id);
	json_put_u64(j, "job_uid", job->uid);
	put_ordinal(j, "total_sheets", job->total_sheets);
	json_put_u64(j, "last_completed_sheet", job->last_completed_sheet);
	put_ordinal(j, "current_sheet", job->current_sheet);
	json_put_str(j, "status", job_status_name(job->status));
	json_end_object(j);
}

static void encode_event(struct json *j, const struct snapshot *snap, size_t index)
{
	const struct event *e = &snap->events.at[index];
	struct buf details = { .max = 4096 };
	struct event_record record = event_record_of(e, snap, &details);

	json_begin_object(j);
	fields_json(j, &live_event_fields, &record);
	if (e->final.present)
		readings_json(j, proc_metrics, PROC_METRIC_COUNT, e->final.present, e->final.value);
	json_end_object(j);
	buf_done(&details);
}

/* ---- encoding once --------------------------------------------------------------------------- */

enum item { ITEM_PROCESS, ITEM_JOB, ITEM_EVENT, ITEM_COUNT };

static void (*const encoders[])(struct json *j, const struct snapshot *snap, size_t index) = {
	[ITEM_PROCESS] = encode_process,
	[ITEM_JOB] = encode_job,
	[ITEM_EVENT] = encode_event,
};

struct span {
	uint32_t at, len; /* in the text; len 0: not encoded yet */
};

struct snapshot_json_cache {
	pthread_mutex_t lock;
	struct buf text;
	VEC(struct span) spans[ITEM_COUNT]; /* by index in the snapshot, as far as was needed */
};

struct snapshot_json_cache *snapshot_json_cache_new(void)
{
	struct snapshot_json_cache *cache = xcalloc(1, sizeof *cache);

	pthread_mutex_init(&cache->lock, NULL);
	return cache;
}

void snapshot_json_cache_reset(struct snapshot_json_cache *cache)
{
	buf_relax(&cache->text);
	for (enum item i = 0; i < ITEM_COUNT; i++)
		vec_relax(&cache->spans[i]);
}

void snapshot_json_cache_free(struct snapshot_json_cache *cache)
{
	if (!cache)
		return;
	pthread_mutex_destroy(&cache->lock);
	buf_done(&cache->text);
	for (enum item i = 0; i < ITEM_COUNT; i++)
		vec_done(&cache->spans[i]);
	free(cache);
}

static struct span *find_span(struct snapshot_json_cache *cache, enum item item, size_t index)
{
	while (cache->spans[item].len <= index)
		(void)vec_push(&cache->spans[item], SIZE_MAX);
	return &cache->spans[item].at[index];
}

/* The lock is held while the text is copied, because it moves when it grows. */
static void put_item(struct json *j, const struct snapshot *snap, enum item item, size_t index)
{
	struct snapshot_json_cache *cache = snap->json;
	struct span *span;

	if (!cache) {
		encoders[item](j, snap, index);
		return;
	}
	pthread_mutex_lock(&cache->lock);
	span = find_span(cache, item, index);
	if (!span->len) {
		span->at = (uint32_t)cache->text.len;
		encoders[item](&(struct json){ .out = &cache->text }, snap, index);
		span->len = (uint32_t)cache->text.len - span->at;
	}
	json_raw(j, cache->text.at + span->at, span->len);
	pthread_mutex_unlock(&cache->lock);
}

void snapshot_json_event(struct json *j, const struct snapshot *snap, size_t index)
{
	put_item(j, snap, ITEM_EVENT, index);
}

/* ---- the snapshot ---------------------------------------------------------------------------- */

static void put_progress(struct json *j, const struct snapshot *snap,
                         const struct snapshot_scope *scope)
{
	json_open_array(j, "job_progress");
	for (size_t i = 0; i < snap->jobs.len; i++)
		if (!scope || scope->has_job(scope->self, &snap->jobs.at[i]))
			put_item(j, snap, ITEM_JOB, i);
	json_end_array(j);
}

static void put_zombies(struct json *j, const struct snapshot *snap,
                        const struct snapshot_scope *scope, size_t count)
{
	json_put_u64(j, "zombie_count", count);
	json_open_array(j, "zombie_pids");
	vec_each(&snap->zombies, pid)
		if (snapshot_scope_has_zombie(scope, snap, *pid))
			json_i64(j, *pid);
	json_end_array(j);
}

static void put_head(struct json *j, const struct snapshot *snap)
{
	json_put_u64(j, "schema", 1);
	json_put_u64(j, "seq", snap->seq);
	put_seconds(j, "timestamp", snap->wall_ns);
	json_put_i64(j, "daemon_pid", snap->recorder_pid);
	readings_json(j, host_metrics, HOST_METRIC_COUNT, snap->host.present, snap->host.value);
	put_percent(j, "cpu_percent", snap->cpu_busy_ratio);
	put_percent(j, "iowait_percent", snap->cpu_iowait_ratio);
	put_percent(j, "steal_percent", snap->cpu_steal_ratio);
	put_percent(j, "recorder_cpu_percent", snap->self_cpu_ratio);
	put_percent(j, "psi_cpu_percent", snap->psi_cpu_ratio);
	put_percent(j, "psi_memory_percent", snap->psi_mem_ratio);
	put_percent(j, "psi_io_percent", snap->psi_io_ratio);
	put_seconds(j, "interval_seconds", snap->elapsed_ns);
	json_put_text(j, "boot_id", snap->boot_id);
	json_open_object(j, "cgroup");
	readings_json(j, cgroup_metrics, CGROUP_METRIC_COUNT, snap->cgroup.present,
	              snap->cgroup.value);
	json_end_object(j);
}

static void put_gpu_use(struct json *j, const struct snapshot *snap,
                        const struct snapshot_scope *scope, const struct gpu_use *use)
{
	json_begin_object(j);
	json_key(j, "pid");
	if (use->is_foreign)
		json_nil(j);
	else
		json_i64(j, use->id.pid);
	if (use->is_foreign)
		json_put_i64(j, "host_pid", use->id.pid);
	readings_json(j, gpu_use_metrics, GPU_USE_METRIC_COUNT, use->r.present, use->r.value);
	if (use->is_partial)
		json_put_bool(j, "is_partial", true);
	put_job(j, snap, snapshot_scope_has_job(scope, snap, use->job) ? use->job : -1, use->sheet);
	json_end_object(j);
}

/* Only what the driver reports. */
static void put_gpu_health(struct json *j, const struct gpu_health *h)
{
	if (h->knows_throttle) {
		json_open_array(j, "throttle");
		for (unsigned i = 0; i < GPU_THROTTLE_COUNT; i++)
			if (h->throttle >> i & 1)
				json_str(j, gpu_throttle_keys[i]);
		json_end_array(j);
	}
	if (h->knows_corrected)
		json_put_u64(j, "ecc_corrected", h->ecc_corrected);
	if (h->knows_uncorrected)
		json_put_u64(j, "ecc_uncorrected", h->ecc_uncorrected);
}

static void put_lower_bounds(struct json *j, uint64_t at_least)
{
	json_open_array(j, "at_least");
	for (unsigned i = 0; i < GPU_METRIC_COUNT; i++)
		if (at_least >> i & 1)
			json_str(j, gpu_metrics[i].key);
	json_end_array(j);
}

static void put_gpu(struct json *j, const struct snapshot *snap, const struct snapshot_scope *scope,
                    const struct gpu_sample *gpu)
{
	json_begin_object(j);
	json_put_u64(j, "index", gpu->index);
	json_put_text(j, "name", gpu->name);
	json_put_text(j, "uuid", gpu->uuid);
	if (gpu->bus[0])
		json_put_text(j, "bus", gpu->bus);
	if (gpu->is_part)
		json_put_u64(j, "parent_index", gpu->parent);
	readings_json(j, gpu_metrics, GPU_METRIC_COUNT, gpu->r.present, gpu->r.value);
	if (gpu->at_least & gpu->r.present)
		put_lower_bounds(j, gpu->at_least & gpu->r.present);
	put_gpu_health(j, &gpu->health);
	json_open_array(j, "processes");
	vec_each(&snap->gpu_uses, use)
		if (use->gpu == (size_t)(gpu - snap->gpus.at) &&
		    snapshot_scope_has_gpu_use(scope, snap, use))
			put_gpu_use(j, snap, scope, use);
	json_end_array(j);
	json_end_object(j);
}

/* All but the processes. */
static void put_snapshot(struct json *j, const struct snapshot *snap,
                         const struct snapshot_scope *scope, const struct snapshot_counts *n)
{
	put_head(j, snap);
	json_put_str(j, "pressure_level", snap->pressure_level);
	json_put_u64(j, "running_jobs", n->running_jobs);
	json_put_u64(j, "active_sheets", n->active_sheets);
	put_zombies(j, snap, scope, n->zombies);
	put_progress(j, snap, scope);
	put_seconds(j, "conductor_uptime_seconds", snap->uptime_ns);
	json_put_bool(j, "processes_complete", snap->procs_complete);
	json_open_array(j, "gpus");
	vec_each(&snap->gpus, gpu)
		put_gpu(j, snap, scope, gpu);
	json_end_array(j);
}

/* How many were written. */
static size_t put_processes(struct json *j, const struct snapshot *snap,
                            const struct snapshot_scope *scope, enum process_selection selection)
{
	struct process_largest largest;
	size_t n = 0;

	if (selection == SELECT_JOBS_AND_LARGEST)
		process_largest_find(snap, scope, &largest);
	json_open_array(j, "processes");
	for (size_t i = 0; i < snap->procs.len; i++) {
		const struct proc_snap *p = &snap->procs.at[i];

		if (!process_selection_has(selection, &largest, snap, i) ||
		    !snapshot_scope_has_proc(scope, snap, p))
			continue;
		/* A process in the scope may be in a job that is not, of which nothing is shown. */
		if (p->job < 0 || snapshot_scope_has_job(scope, snap, p->job))
			put_item(j, snap, ITEM_PROCESS, i);
		else
			put_process(j, snap, p, -1);
		n++;
	}
	json_end_array(j);
	return n;
}

void snapshot_json(struct json *j, const struct snapshot *snap, const struct snapshot_scope *scope)
{
	struct snapshot_counts n = snapshot_scope_count(scope, snap);

	json_begin_object(j);
	put_snapshot(j, snap, scope, &n);
	(void)put_processes(j, snap, scope, SELECT_ALL);
	json_end_object(j);
}

void snapshot_json_line(struct json *j, const struct snapshot *snap,
                        const struct snapshot_scope *scope, enum process_selection selection)
{
	struct snapshot_counts n = snapshot_scope_count(scope, snap);
	size_t written;

	json_begin_object(j);
	put_snapshot(j, snap, scope, &n);
	written = put_processes(j, snap, scope, selection);
	json_put_u64(j, "processes_total", n.procs);
	json_put_u64(j, "processes_omitted", n.procs - written);
	json_end_object(j);
}
