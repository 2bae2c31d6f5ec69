/* SPDX-License-Identifier: MIT */
#include "top/live_frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/signal_name.h"
#include "rpc/rpc_answer.h"
#include "top/snapshot_text.h"

#define MIB 1048576.0
#define NAMES_MAX 20000
#define NAME_LEN 40

static double number(const json_t *from, const char *key)
{
	return rpc_answer_number(from, key);
}

static double ratio(const json_t *from, const char *key)
{
	return number(from, key) / 100;
}

static double mib(const json_t *from, const char *key)
{
	return number(from, key) * MIB;
}

static enum job_status status_of(const json_t *from)
{
	const char *name = rpc_answer_text(from, "status");

	for (enum job_status s = 0; name && s < JOB_STATUS_COUNT; s++)
		if (strcmp(job_status_name(s), name) == 0)
			return s;
	return JOB_RUNNING;
}

static enum severity severity_of(const json_t *from)
{
	const char *name = rpc_answer_text(from, "severity");

	for (enum severity s = 0; name && s < SEVERITY_COUNT; s++)
		if (strcmp(anomaly_severity_name(s), name) == 0)
			return s;
	return SEVERITY_LOW;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void fill_gpus(const json_t *snapshot, struct frame_head *h)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach(json_object_get(snapshot, "gpus"), i, gpu)
	{
		if (h->gpus == FRAME_GPUS_MAX)
			return;
		h->gpu[h->gpus++] = (struct frame_gpu){
			.index = (uint32_t)rpc_answer_u64(gpu, "index"),
			.util_ratio = ratio(gpu, "utilization_pct"),
			.used_bytes = mib(gpu, "memory_used_mb"),
			.total_bytes = mib(gpu, "memory_total_mb")
		};
	}
}

void live_frame_head(const json_t *s, struct frame *f)
{
	struct frame_head *h = &f->head;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	h->wall_ns = rpc_answer_ns(s, "timestamp");
	h->cores = cores > 0 ? (double)cores : NAN;
	h->cpu_ratio = ratio(s, "cpu_percent");
	h->iowait_ratio = ratio(s, "iowait_percent");
	h->steal_ratio = ratio(s, "steal_percent");
	h->mem_total = mib(s, "system_memory_total_mb");
	h->mem_available = mib(s, "system_memory_available_mb");
	h->swap_total = mib(s, "swap_total_mb");
	h->swap_free = mib(s, "swap_free_mb");
	h->psi_cpu = ratio(s, "psi_cpu_percent");
	h->psi_mem = ratio(s, "psi_memory_percent");
	h->psi_io = ratio(s, "psi_io_percent");
	h->load[0] = number(s, "load_avg_1");
	h->load[1] = number(s, "load_avg_5");
	h->load[2] = number(s, "load_avg_15");
	h->own_cpu_ratio = ratio(s, "recorder_cpu_percent");
	h->own_rss = mib(s, "daemon_rss_mb");
	h->pressure = frame_keep_str(f, rpc_answer_text(s, "pressure_level"));
	f->is_complete = !json_is_false(json_object_get(s, "processes_complete"));
	fill_gpus(s, h);
}

static void fill_status(const json_t *status, struct frame *f)
{
	struct frame_head *h = &f->head;

	h->uptime_ns = clock_boot_ns();
	h->interval_s = number(status, "interval_seconds");
	h->pressure_reason = frame_keep_str(f, rpc_answer_text(status, "pressure_reason"));
	h->left_out = frame_keep_str(f, rpc_answer_text(status, "left_out"));
}

/* The owner of the job, in a member that older servers do not write. */
static uint32_t uid_of(const json_t *from, const char *key)
{
	const json_t *uid = json_object_get(from, key);

	return json_is_integer(uid) ? (uint32_t)json_integer_value(uid) : FRAME_ANY_UID;
}

/* ---- jobs and sheets ------------------------------------------------------------------------- */

static void fill_sheets(const json_t *listed, int32_t job, struct frame *f)
{
	const json_t *s;
	size_t i;

	json_array_foreach(json_object_get(listed, "sheets"), i, s)
	{
		struct frame_sheet *sheet = frame_add_sheet(f, job);

		if (!sheet)
			return;
		sheet->num = (uint32_t)rpc_answer_u64(s, "sheet_num");
		sheet->label = frame_keep_str(f, rpc_answer_text(s, "label"));
		sheet->status = status_of(s);
		sheet->started_ns = rpc_answer_ns(s, "started_at");
		sheet->ended_ns = rpc_answer_ns(s, "ended_at");
		sheet->exit_code = (int)rpc_answer_u64(s, "exit_code");
		sheet->signal = (int)rpc_answer_u64(s, "signal_num");
	}
}

/* Older servers leave out the words. */
static frame_text keep_result(const json_t *j, struct frame *f)
{
	int signal = (int)rpc_answer_u64(j, "signal_num");
	char words[32];

	if (rpc_answer_text(j, "result"))
		return frame_keep_str(f, rpc_answer_text(j, "result"));
	snprintf(words, sizeof words, "exit %d", (int)rpc_answer_u64(j, "exit_code"));
	return frame_keep_str(f, signal ? signal_name(signal).at : words);
}

static void fill_job(const json_t *j, struct frame *f)
{
	const char *id = rpc_answer_text(j, "job_id");
	struct frame_job *job =
		id ? frame_add_job(f, (struct job_key){ (uint32_t)rpc_answer_u64(j, "uid"), id })
		   : NULL;

	if (!job)
		return;
	job->type = frame_keep_str(f, rpc_answer_text(j, "job_type"));
	job->command = frame_keep_str(f, rpc_answer_text(j, "command"));
	job->limit_source = frame_keep_str(f, rpc_answer_text(j, "allowed_memory_source"));
	job->status = status_of(j);
	job->started_ns = rpc_answer_ns(j, "started_at");
	job->ended_ns = rpc_answer_ns(j, "ended_at");
	job->result = keep_result(j, f);
	job->total_sheets = (uint32_t)rpc_answer_u64(j, "total_sheets");
	job->completed_sheets = (uint32_t)rpc_answer_u64(j, "last_completed_sheet");
	job->current_sheet = (uint32_t)rpc_answer_u64(j, "current_sheet");
	job->limit_bytes = mib(j, "allowed_memory_mb");
	job->limit_cores = number(j, "allowed_cores");
	job->limit_s = number(j, "allowed_seconds");
	fill_sheets(j, (int32_t)(job - f->jobs.at), f);
}

/* The server's figures of the running jobs. */
static void fill_sums(const json_t *status, struct frame *f)
{
	const json_t *j;
	size_t i;

	json_array_foreach(json_object_get(status, "jobs"), i, j)
	{
		const char *id = rpc_answer_text(j, "job_id");
		int32_t at = id ? frame_find_job(f, (struct job_key){ uid_of(j, "uid"), id }) : -1;

		if (at < 0)
			continue;
		f->jobs.at[at].measured[FRAME_CPU] = ratio(j, "cpu_percent");
		f->jobs.at[at].measured[FRAME_MEM] = mib(j, "used_mb");
	}
}

/* ---- what happened --------------------------------------------------------------------------- */

void live_frame_names_done(struct program_names *n)
{
	struct map_slot slot;
	size_t it = 0;

	while (map_next(&n->of, &it, &slot))
		free((void *)(uintptr_t)slot.value);
	map_done(&n->of);
}

/* The program without its directory and its arguments. */
static char *program_of(const char *command)
{
	const char *name = command, *end = command;

	for (; *end && *end != ' '; end++)
		if (*end == '/')
			name = end + 1;
	return xstrndup(name, MIN((size_t)(end - name), (size_t)NAME_LEN));
}

static void learn_names(struct program_names *n, const struct frame *f)
{
	if (n->of.len > NAMES_MAX)
		live_frame_names_done(n);
	vec_each(&f->procs, p) {
		uint64_t known = 0;
		char *name;

		if (p->job < 0)
			continue;
		name = program_of(frame_str(f, p->command));
		if (map_get(&n->of, (uint64_t)p->pid, &known))
			free((void *)(uintptr_t)known);
		map_put(&n->of, (uint64_t)p->pid, (uintptr_t)name);
	}
}

static const char *name_of(const struct program_names *n, pid_t pid)
{
	uint64_t name;

	return n && map_get(&n->of, (uint64_t)pid, &name) ? (const char *)(uintptr_t)name
	                                                  : "process";
}

static enum event_kind kind_of(const json_t *e)
{
	const char *name = rpc_answer_text(e, "event_type");
	enum event_kind kind = 0;

	while (kind < EVENT_KIND_COUNT && !(name && strcmp(event_name(kind), name) == 0))
		kind++;
	return kind;
}

static void fill_event(const json_t *e, const struct program_names *names, struct frame *f)
{
	pid_t pid = (pid_t)rpc_answer_u64(e, "pid");

	frame_add_event(f, &(struct event_record){ .kind = kind_of(e),
	                                           .wall_ns = rpc_answer_ns(e, "timestamp"),
	                                           .process.pid = pid,
	                                           .comm = name_of(names, pid),
	                                           .signal = (int)rpc_answer_u64(e, "signal_num"),
	                                           .job_id = rpc_answer_text(e, "job_id"),
	                                           .has_job_uid = true,
	                                           .job_uid = uid_of(e, "job_uid"),
	                                           .name = rpc_answer_text(e, "name"),
	                                           .details = rpc_answer_text(e, "details") });
}

static void fill_anomaly(const json_t *a, struct frame *f)
{
	const struct anomaly_record record = { .kind = rpc_answer_text(a, "anomaly_type"),
		                               .severity = severity_of(a),
		                               .process.pid = (pid_t)rpc_answer_u64(a, "pid"),
		                               .job_id = rpc_answer_text(a, "job_id"),
		                               .has_job_uid = true,
		                               .job_uid = uid_of(a, "job_uid"),
		                               .began_ns = rpc_answer_ns(a, "timestamp"),
		                               .description = rpc_answer_text(a, "description") };
	size_t n = f->events.len;

	frame_add_anomaly(f, &record);
	frame_add_event(f, &(struct event_record){ .kind = EVENT_ANOMALY,
	                                           .wall_ns = record.began_ns,
	                                           .process = record.process,
	                                           .job_id = record.job_id,
	                                           .has_job_uid = true,
	                                           .job_uid = record.job_uid,
	                                           .details = record.description });
	if (f->events.len > n)
		f->events.at[n].severity = record.severity;
}

static void fill_events(const struct live_answers *from, const struct job_key *only,
                        struct frame *f)
{
	const json_t *e;
	size_t i;

	frame_add_jobs(f);
	json_array_foreach(json_object_get(from->status, "anomalies_active"), i, e)
		fill_anomaly(e, f);
	json_array_foreach(json_object_get(from->events, "events"), i, e)
		fill_event(e, from->names, f);
	frame_add_latest_sheets(f, only);
}

void live_frame_fill(const struct live_answers *from, enum frame_source source,
                     const struct job_key *only, struct frame *ret)
{
	const json_t *j;
	size_t i;

	frame_reset(ret);
	if (!from->snapshot)
		return;
	ret->source = source;
	live_frame_head(from->snapshot, ret);
	fill_status(from->status, ret);
	json_array_foreach(json_object_get(from->jobs, "jobs"), i, j)
		fill_job(j, ret);
	fill_sums(from->status, ret);
	snapshot_text_fill(from->processes, ret);
	if (from->names)
		learn_names(from->names, ret);
	fill_events(from, only, ret);
	frame_complete(ret, only);
}

/* "futex, lock 0x7f…", "read, pipe from make 812" */
void live_frame_blocked(const json_t *context, char *ret, size_t cap)
{
	const json_t *b = json_object_get(context, "blocked");
	const char *call = rpc_answer_text(b, "call"), *on = rpc_answer_text(b, "on");
	const char *text = rpc_answer_text(b, "target"), *peer = rpc_answer_text(b, "peer_name");

	*ret = '\0';
	if (!json_is_object(b) || !call)
		return;
	snprintf(ret, cap, "%s%s%s%s%s%s%s", call, on ? ", " : "", on ? on : "", text ? " " : "",
	         text ? text : "", peer ? " of " : "", peer ? peer : "");
}
