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
		if (strcmp(severity_name(s), name) == 0)
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
		h->gpu[h->gpus++] =
			(struct frame_gpu){ .index = (uint32_t)rpc_answer_u64(gpu, "index"),
			                    .util_ratio = ratio(gpu, "utilization_pct"),
			                    .used_bytes = mib(gpu, "memory_used_mb"),
			                    .total_bytes = mib(gpu, "memory_total_mb") };
	}
}

static void fill_head(const struct live_answers *from, struct frame *f)
{
	const json_t *s = from->snapshot;
	struct frame_head *h = &f->head;
	const char *pressure = rpc_answer_text(s, "pressure_level");
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	h->wall_ns = rpc_answer_ns(s, "timestamp");
	h->uptime_ns = clock_boot_ns();
	h->interval_s = number(from->status, "interval_seconds");
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
	h->pressure = frame_keep_str(f, pressure);
	h->pressure_reason = frame_keep_str(f, rpc_answer_text(from->status, "pressure_reason"));
	h->left_out = frame_keep_str(f, rpc_answer_text(from->status, "left_out"));
	f->is_complete = !json_is_false(json_object_get(s, "processes_complete"));
	fill_gpus(s, h);
}

/* Whose it is, in a member that older servers do not write. */
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
		struct frame_sheet *sheet = vec_push(&f->sheets, SHEETS_MAX);

		if (!sheet)
			return;
		*sheet = (struct frame_sheet){
			.job = job,
			.num = (uint32_t)rpc_answer_u64(s, "sheet_num"),
			.label = frame_keep_str(f, rpc_answer_text(s, "label")),
			.status = status_of(s),
			.started_ns = rpc_answer_ns(s, "started_at"),
			.ended_ns = rpc_answer_ns(s, "ended_at"),
			.exit_code = (int)rpc_answer_u64(s, "exit_code"),
			.signal = (int)rpc_answer_u64(s, "signal_num"),
		};
	}
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
	job->has_exit_code = json_is_integer(json_object_get(j, "exit_code"));
	job->exit_code = (int)rpc_answer_u64(j, "exit_code");
	job->signal = (int)rpc_answer_u64(j, "signal_num");
	job->total_sheets = (uint32_t)rpc_answer_u64(j, "total_sheets");
	job->completed_sheets = (uint32_t)rpc_answer_u64(j, "last_completed_sheet");
	job->current_sheet = (uint32_t)rpc_answer_u64(j, "current_sheet");
	job->limit_bytes = mib(j, "allowed_memory_mb");
	job->limit_cores = number(j, "allowed_cores");
	job->limit_s = number(j, "allowed_seconds");
	fill_sheets(j, (int32_t)(job - f->jobs.at), f);
}

/* What the server measured of the jobs that run. */
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
		f->jobs.at[at].cpu_ratio = ratio(j, "cpu_percent");
		f->jobs.at[at].used_bytes = mib(j, "used_mb");
	}
}

/* ---- what happened --------------------------------------------------------------------------- */

void program_names_done(struct program_names *n)
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
		program_names_done(n);
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

	return n && map_get(&n->of, (uint64_t)pid, &name) ? (const char *)(uintptr_t)name : "process";
}

static void add_event(struct frame *f, uint64_t wall_ns, const char *kind, struct job_key job,
                      const char *what, enum severity severity, pid_t pid)
{
	struct frame_event *e = vec_push(&f->events, FRAME_EVENTS_MAX);

	if (e)
		*e = (struct frame_event){ .wall_ns = wall_ns,
			                   .kind = frame_keep_str(f, kind),
			                   .job = frame_keep_str(f, job.id),
			                   .job_uid = job.uid,
			                   .what = frame_keep_str(f, what),
			                   .severity = severity,
			                   .pid = pid };
}

/* Births and ends by themselves are left out: they would push the rest off the screen. Whether a job or a sheet failed
 * is shown with them. */
static void fill_event(const json_t *e, const struct program_names *names, struct frame *f)
{
	const char *kind = rpc_answer_text(e, "event_type"), *details = rpc_answer_text(e, "details");
	const struct job_key job = { uid_of(e, "job_uid"), rpc_answer_text(e, "job_id") };
	int signal = (int)rpc_answer_u64(e, "signal_num");
	pid_t pid = (pid_t)rpc_answer_u64(e, "pid");
	const char *name = name_of(names, pid);
	char what[200];
	bool is_exit = kind && strcmp(kind, "exit") == 0;
	bool is_oom = kind && strcmp(kind, "oom") == 0;
	enum severity severity = SEVERITY_MEDIUM;

	if (!kind || strcmp(kind, "spawn") == 0 || strcmp(kind, "exec") == 0 ||
	    (is_exit && !signal))
		return;
	if (is_oom || strcmp(kind, "kill") == 0)
		severity = SEVERITY_HIGH;
	if (is_exit && signal)
		snprintf(what, sizeof what, "%s %d died of %s", name, (int)pid, signal_name(signal).at);
	else if (is_oom)
		snprintf(what, sizeof what, "%s %d was chosen because memory ran out", name, (int)pid);
	else
		snprintf(what, sizeof what, "%s %d: %s%s%.80s", name, (int)pid,
		         signal ? signal_name(signal).at : "", signal ? " " : "", details ? details : "");
	add_event(f, rpc_answer_ns(e, "timestamp"), kind, job, what, severity, pid);
}

static void fill_anomalies(const json_t *status, struct frame *f)
{
	const json_t *a;
	size_t i;

	json_array_foreach(json_object_get(status, "anomalies_active"), i, a)
	{
		const struct job_key job = { uid_of(a, "job_uid"), rpc_answer_text(a, "job_id") };
		struct frame_anomaly *to = vec_push(&f->anomalies, FRAME_EVENTS_MAX);

		if (!to)
			return;
		*to = (struct frame_anomaly){
			.kind = frame_keep_str(f, rpc_answer_text(a, "anomaly_type")),
			.job = frame_keep_str(f, job.id),
			.job_uid = job.uid,
			.what = frame_keep_str(f, rpc_answer_text(a, "description")),
			.severity = severity_of(a),
			.pid = (pid_t)rpc_answer_u64(a, "pid"),
			.began_ns = rpc_answer_ns(a, "timestamp"),
		};
		add_event(f, to->began_ns, "anomaly", job, rpc_answer_text(a, "description"),
		          to->severity, to->pid);
	}
}

/* Its id is copied: the frame's texts move when one is added. */
static struct job_key copy_key(const struct frame *f, size_t job, char id[static JOB_ID_MAX])
{
	snprintf(id, JOB_ID_MAX, "%s", frame_str(f, f->jobs.at[job].id));
	return (struct job_key){ f->jobs.at[job].uid, id };
}

static void add_job_events(struct frame *f, size_t index)
{
	const struct frame_job *job = &f->jobs.at[index];
	char id[JOB_ID_MAX];
	const struct job_key key = copy_key(f, index, id);
	char what[160];

	if (job->started_ns)
		add_event(f, job->started_ns, "job", key, "started", SEVERITY_LOW, 0);
	if (!job->ended_ns)
		return;
	if (job->status == JOB_FAILED && job->signal)
		snprintf(what, sizeof what, "FAILED: %s", signal_name(job->signal).at);
	else if (job->status == JOB_FAILED)
		snprintf(what, sizeof what, "FAILED: exit status %d", job->exit_code);
	else
		snprintf(what, sizeof what, "%s", job->status == JOB_COMPLETED ? "ended well" : "lost");
	add_event(f, job->ended_ns, "job", key, what,
	          job->status == JOB_FAILED ? SEVERITY_HIGH : SEVERITY_LOW, 0);
}

static void add_sheet_events(struct frame *f, size_t index)
{
	const struct frame_sheet *s = &f->sheets.at[index];
	char id[JOB_ID_MAX], what[160];
	const struct job_key job = copy_key(f, (size_t)s->job, id);
	bool failed = s->status == JOB_FAILED;

	snprintf(what, sizeof what, "sheet %u %.80s began", s->num, frame_str(f, s->label));
	add_event(f, s->started_ns, "sheet", job, what, SEVERITY_LOW, 0);
	s = &f->sheets.at[index];
	if (!s->ended_ns)
		return;
	snprintf(what, sizeof what, "sheet %u %.80s %s", s->num, frame_str(f, s->label),
	         failed ? "FAILED" : s->status == JOB_LOST ? "was not closed" : "is done");
	add_event(f, s->ended_ns, "sheet", job, what, failed ? SEVERITY_HIGH : SEVERITY_LOW, 0);
}

static void fill_events(const struct live_answers *from, struct frame *f)
{
	const json_t *e;
	size_t i;

	for (size_t at = 0; at < f->jobs.len; at++)
		add_job_events(f, at);
	for (size_t at = f->sheets.len > 100 ? f->sheets.len - 100 : 0; at < f->sheets.len; at++)
		add_sheet_events(f, at);
	fill_anomalies(from->status, f);
	json_array_foreach(json_object_get(from->events, "events"), i, e)
		fill_event(e, from->names, f);
}

static void complete(struct frame *f, struct job_pick *only)
{
	struct job_key job;

	if (only) {
		job_pick_begin(only);
		for (size_t i = 0; i < f->jobs.len; i++)
			job_pick_offer(only, frame_job_key(f, i));
		job = job_pick_end(only);
	}
	frame_complete(f, only ? &job : NULL);
}

void live_frame_fill(const struct live_answers *from, enum frame_source source,
                     struct job_pick *only, struct frame *ret)
{
	const json_t *j;
	size_t i;

	frame_reset(ret);
	if (!from->snapshot)
		return;
	ret->source = source;
	fill_head(from, ret);
	json_array_foreach(json_object_get(from->jobs, "jobs"), i, j)
		fill_job(j, ret);
	fill_sums(from->status, ret);
	snapshot_text_fill(from->processes, ret);
	if (from->names)
		learn_names(from->names, ret);
	fill_events(from, ret);
	complete(ret, only);
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
