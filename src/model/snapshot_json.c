/* SPDX-License-Identifier: MIT */
#include "model/snapshot_json.h"

#include <pthread.h>

#include "base/mem.h"
#include "model/record_fields.h"

/* ---- processes, jobs and events -------------------------------------------------------------- */

struct live_process {
	struct proc_snap p;
	const struct snapshot *snap;
	const struct syscall_count *calls;
	size_t n_calls;
	const char *job_id; /* NULL: none, or it may not be shown */
	uint32_t job_uid, sheet;
	bool has_job_uid;
};

static void put_command(struct json *j, const void *record)
{
	const struct live_process *l = record;

	json_strn(j, snapshot_string(l->snap, l->p.s.command), l->p.s.command.len);
}

static void put_calls(struct json *j, const void *record)
{
	const struct live_process *l = record;

	syscall_counts_json_calls(j, l->calls, l->n_calls);
}

static void put_call_shares(struct json *j, const void *record)
{
	const struct live_process *l = record;

	syscall_counts_json_shares(j, l->calls, l->n_calls);
}

#define RECORD struct live_process
static const struct field process_rows[] = {
	{ "pid", FIELD(NUMBER, p.s.id.pid), .help = "process id" },
	{ "ppid", FIELD(NUMBER, p.s.ppid), .help = "its parent" },
	{ "command", FIELD_PUT, .put = put_command, .help = "its command line, secrets removed" },
	{ "state", FIELD(LETTER, p.s.state),
	  .help = "R runs, S sleeps, D waits for a disk, T is stopped, Z is a zombie" },
	{ "cpu_percent", FIELD(RATIO, p.cpu_ratio), .decimals = 2,
	  .help = "CPU since the tick before, percent of a core" },
	FIELD_METRICS(p.s.r, proc_metrics),
	{ "age_seconds", FIELD(NUMBER, p.age_ns), .unit = UNIT_NS, .help = "time since it began" },
	FIELDS_JOB,
	{ "syscall_counts", FIELD_PUT, .put = put_calls,
	  .help = "its system calls since the tick before, while it is traced" },
	{ "syscall_time_pct", FIELD_PUT, .put = put_call_shares,
	  .help = "… and the share of their time that each took" },
	{ "uid", FIELD(NUMBER, p.s.uid), .help = "its user" },
	{ "read_bytes_per_s", FIELD(REAL, p.read_bytes_per_s), .decimals = 1, .is_optional = true,
	  .help = "read from storage since the tick before" },
	{ "write_bytes_per_s", FIELD(REAL, p.write_bytes_per_s), .decimals = 1, .is_optional = true,
	  .help = "written to storage since the tick before" },
};
#undef RECORD
const struct field_table live_process_fields = FIELD_TABLE(process_rows);

/* `job` is p's, or -1 where that may not be shown. */
static void put_process(struct json *j, const struct snapshot *snap, const struct proc_snap *p,
                        int32_t job)
{
	const struct syscall_owner *of = snapshot_find_caller(snap, p->s.id);
	struct live_process l = { .p = *p, .snap = snap };

	if (of) {
		l.calls = snap->syscalls.at + of->at;
		l.n_calls = of->len;
	}
	if (job >= 0) {
		l.job_id = snap->jobs.at[job].id;
		l.job_uid = snap->jobs.at[job].uid;
		l.has_job_uid = true;
		l.sheet = p->sheet;
	}
	field_table_json_object(j, &live_process_fields, &l);
}

static void encode_process(struct json *j, const struct snapshot *snap, size_t index)
{
	const struct proc_snap *p = &snap->procs.at[index];

	put_process(j, snap, p, p->job);
}

static void encode_without_job(struct json *j, const struct snapshot *snap, size_t index)
{
	put_process(j, snap, &snap->procs.at[index], -1);
}

static const char *job_status(const void *record)
{
	return job_status_name(((const struct job *)record)->status);
}

#define RECORD struct job
static const struct field job_rows[] = {
	{ "job_id", FIELD(CHARS, id), .help = "its id" },
	{ "job_uid", FIELD(NUMBER, uid), .help = "its user" },
	{ "total_sheets", FIELD(ORDINAL, total_sheets), .help = "sheets it has; null: not known" },
	{ "last_completed_sheet", FIELD(NUMBER, last_completed_sheet),
	  .help = "highest sheet that was completed; 0: none" },
	{ "current_sheet", FIELD(ORDINAL, current_sheet), .help = "highest sheet that runs" },
	{ "status", FIELD_NAME, .name = job_status, .help = "running, completed, failed or lost" },
};
#undef RECORD
const struct field_table live_job_fields = FIELD_TABLE(job_rows);

static void encode_job(struct json *j, const struct snapshot *snap, size_t index)
{
	field_table_json_object(j, &live_job_fields, &snap->jobs.at[index]);
}

static void encode_event(struct json *j, const struct snapshot *snap, size_t index)
{
	const struct event *e = &snap->events.at[index];
	struct buf details = { .max = 4096 };
	struct event_record record = history_record_of_event(e, snap, &details);

	json_begin_object(j);
	field_table_json(j, &live_event_fields, &record);
	if (e->final.present)
		field_readings_json(j, proc_metrics, PROC_METRIC_COUNT, e->final.present,
		                    e->final.value);
	json_end_object(j);
	buf_done(&details);
}

/* ---- encoding once --------------------------------------------------------------------------- */

enum item { ITEM_PROCESS, ITEM_PROCESS_WITHOUT_JOB, ITEM_JOB, ITEM_EVENT, ITEM_COUNT };

static void (*const encoders[])(struct json *j, const struct snapshot *snap, size_t index) = {
	[ITEM_PROCESS] = encode_process,
	[ITEM_PROCESS_WITHOUT_JOB] = encode_without_job,
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

/* ---- the machine ----------------------------------------------------------------------------- */

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
                        const struct snapshot_scope *scope)
{
	json_open_array(j, "zombie_pids");
	vec_each(&snap->zombies, pid)
		if (snapshot_scope_has_zombie(scope, snap, *pid))
			json_i64(j, *pid);
	json_end_array(j);
}

static void put_cgroup(struct json *j, const void *record)
{
	const struct cgroup_readings *g = &((const struct snapshot *)record)->cgroup;

	json_begin_object(j);
	field_readings_json(j, cgroup_metrics, CGROUP_METRIC_COUNT, g->present, g->value);
	json_end_object(j);
}

#define WAITED(what) "share of the time in which some task waited for " what

#define RECORD struct snapshot
static const struct field head_rows[] = {
	{ "seq", FIELD(NUMBER, seq),
	  .help = "number of the tick, from 1 in the life of a recorder" },
	{ "timestamp", FIELD(NUMBER, wall_ns), .unit = UNIT_NS,
	  .help = "when, seconds since 1970" },
	{ "daemon_pid", FIELD(NUMBER, recorder_pid), .help = "the recorder itself" },
	FIELD_METRICS(host, host_metrics),
	{ "cpu_percent", FIELD(RATIO, cpu_busy_ratio), .decimals = 2,
	  .help = "CPU since the tick before, percent of the machine" },
	{ "iowait_percent", FIELD(RATIO, cpu_iowait_ratio), .decimals = 2,
	  .help = "… idle while a disk was awaited" },
	{ "steal_percent", FIELD(RATIO, cpu_steal_ratio), .decimals = 2,
	  .help = "… taken by the hypervisor" },
	{ "recorder_cpu_percent", FIELD(RATIO, self_cpu_ratio), .decimals = 2,
	  .help = "CPU of the recorder itself, percent of a core" },
	{ "psi_cpu_percent", FIELD(RATIO, psi_cpu_ratio), .decimals = 2, .help = WAITED("a CPU") },
	{ "psi_memory_percent", FIELD(RATIO, psi_mem_ratio), .decimals = 2,
	  .help = WAITED("memory") },
	{ "psi_io_percent", FIELD(RATIO, psi_io_ratio), .decimals = 2, .help = WAITED("I/O") },
	{ "interval_seconds", FIELD(NUMBER, elapsed_ns), .unit = UNIT_NS,
	  .help = "time since the tick before; 0: this is the first" },
	{ "boot_id", FIELD(TEXT, boot_id), .help = "changes whenever the machine starts" },
	{ "cgroup", FIELD_PUT, .put = put_cgroup,
	  .help = "the control group of the recorder: see control group" },
	{ "pressure_level", FIELD(STRING, pressure_level),
	  .help = "how short the machine is of CPU and memory; null: not judged" },
};
static const struct field tail_rows[] = {
	{ "conductor_uptime_seconds", FIELD(NUMBER, uptime_ns), .unit = UNIT_NS,
	  .help = "how long the recorder has run" },
	{ "processes_complete", FIELD(BOOL, procs_complete),
	  .help = "false: some are hidden from the recorder" },
};
#undef RECORD
const struct field_table snapshot_head_fields = FIELD_TABLE(head_rows);
const struct field_table snapshot_tail_fields = FIELD_TABLE(tail_rows);

#define RECORD struct snapshot_counts
static const struct field count_rows[] = {
	{ "running_jobs", FIELD(NUMBER, running_jobs), .help = "jobs that run" },
	{ "active_sheets", FIELD(NUMBER, active_sheets), .help = "sheets that run" },
	{ "zombie_count", FIELD(NUMBER, zombies), .help = "zombies among their processes" },
};
#undef RECORD
const struct field_table snapshot_count_fields = FIELD_TABLE(count_rows);

/* ---- GPUs ------------------------------------------------------------------------------------ */

struct live_gpu_use {
	struct gpu_use u;
	pid_t pid, host_pid; /* one of them is 0 */
	const char *job_id;
	uint32_t job_uid, sheet;
	bool has_job_uid;
};

#define RECORD struct live_gpu_use
static const struct field gpu_use_rows[] = {
	{ "pid", FIELD(ORDINAL, pid), .help = "the process; null: of another pid namespace" },
	{ "host_pid", FIELD(ORDINAL, host_pid), .is_optional = true,
	  .help = "… its pid there; absent: not needed" },
	FIELD_METRICS(u.r, gpu_use_metrics),
	{ "is_partial", FIELD(BOOL, u.is_partial), .is_optional = true,
	  .help = "true: not all could be read, so figures are at least that; else absent" },
	FIELDS_JOB,
};
#undef RECORD
const struct field_table live_gpu_use_fields = FIELD_TABLE(gpu_use_rows);

static void put_gpu_use(struct json *j, const struct snapshot *snap,
                        const struct snapshot_scope *scope, const struct gpu_use *use)
{
	struct live_gpu_use l = { .u = *use };

	*(use->has_host_pid ? &l.host_pid : &l.pid) = use->id.pid;
	if (snapshot_scope_has_job(scope, snap, use->job)) {
		l.job_id = snap->jobs.at[use->job].id;
		l.job_uid = snap->jobs.at[use->job].uid;
		l.has_job_uid = true;
		l.sheet = use->sheet;
	}
	field_table_json_object(j, &live_gpu_use_fields, &l);
}

static bool has_lower_bounds(const void *record)
{
	const struct gpu_sample *gpu = record;

	return gpu->at_least & gpu->r.present;
}

static void put_lower_bounds(struct json *j, const void *record)
{
	const struct gpu_sample *gpu = record;

	json_begin_array(j);
	for (unsigned i = 0; i < GPU_METRIC_COUNT; i++)
		if ((gpu->at_least & gpu->r.present) >> i & 1)
			json_str(j, gpu_metrics[i].key);
	json_end_array(j);
}

static bool knows_throttle(const void *record)
{
	return ((const struct gpu_sample *)record)->health.knows_throttle;
}

static void put_throttle(struct json *j, const void *record)
{
	const struct gpu_sample *gpu = record;

	json_begin_array(j);
	for (unsigned i = 0; i < GPU_THROTTLE_COUNT; i++)
		if (gpu->health.throttle >> i & 1)
			json_str(j, gpu_throttle_keys[i]);
	json_end_array(j);
}

#define RECORD struct gpu_sample
static const struct field gpu_rows[] = {
	{ "index", FIELD(NUMBER, index), .help = "the driver's number" },
	{ "name", FIELD(TEXT, name), .help = "its model" },
	{ "uuid", FIELD(TEXT, uuid), .help = "the driver's name for this one" },
	{ "bus", FIELD(TEXT, bus), .is_optional = true,
	  .help = "its address on the bus; absent: not known" },
	{ "parent_index", FIELD(CODE, parent), .has = offsetof(RECORD, is_part),
	  .is_optional = true, .help = "of a part (MIG), the whole GPU; else absent" },
	FIELD_METRICS(r, gpu_metrics),
	{ "at_least", FIELD_PUT, .put = put_lower_bounds, .has_any = has_lower_bounds,
	  .is_optional = true,
	  .help = "keys of those that are the sum over visible processes; absent: none" },
	{ "throttle", FIELD_PUT, .put = put_throttle, .has_any = knows_throttle,
	  .is_optional = true, .help = "why it is slowed down; absent: not known" },
	{ "ecc_corrected", FIELD(CODE, health.ecc_corrected),
	  .has = offsetof(RECORD, health.knows_corrected), .is_optional = true,
	  .help = "memory errors that were corrected since the driver was loaded" },
	{ "ecc_uncorrected", FIELD(CODE, health.ecc_uncorrected),
	  .has = offsetof(RECORD, health.knows_uncorrected), .is_optional = true,
	  .help = "… and those that were not" },
};
#undef RECORD
const struct field_table live_gpu_fields = FIELD_TABLE(gpu_rows);

static void put_gpu(struct json *j, const struct snapshot *snap, const struct snapshot_scope *scope,
                    const struct gpu_sample *gpu)
{
	json_begin_object(j);
	field_table_json(j, &live_gpu_fields, gpu);
	json_open_array(j, "processes");
	vec_each(&snap->gpu_uses, use)
		if (use->gpu == (size_t)(gpu - snap->gpus.at) &&
		    snapshot_scope_has_gpu_use(scope, snap, use))
			put_gpu_use(j, snap, scope, use);
	json_end_array(j);
	json_end_object(j);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* All but the processes. */
static void put_snapshot(struct json *j, const struct snapshot *snap,
                         const struct snapshot_scope *scope, const struct snapshot_counts *n)
{
	json_put_u64(j, "schema", 1);
	field_table_json(j, &snapshot_head_fields, snap);
	field_table_json(j, &snapshot_count_fields, n);
	put_zombies(j, snap, scope);
	put_progress(j, snap, scope);
	field_table_json(j, &snapshot_tail_fields, snap);
	json_open_array(j, "gpus");
	vec_each(&snap->gpus, gpu)
		put_gpu(j, snap, scope, gpu);
	json_end_array(j);
}

/* A process in the scope may be in a job that is not, of which nothing is shown. */
static enum item item_of(const struct snapshot *snap, const struct snapshot_scope *scope,
                         const struct proc_snap *p)
{
	return p->job < 0 || snapshot_scope_has_job(scope, snap, p->job) ? ITEM_PROCESS
	                                                                 : ITEM_PROCESS_WITHOUT_JOB;
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
		put_item(j, snap, item_of(snap, scope, p), i);
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
