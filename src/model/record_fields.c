/* SPDX-License-Identifier: MIT */
#include "model/record_fields.h"

#include <stdio.h>
#include <string.h>

#include "base/json_read.h"

/* They are stored as JSON; a store may have been edited. */
static void put_tags(struct json *j, const void *record)
{
	const struct job *job = record;
	const char *tags = json_read_is_object(scan_str(job->tags)) ? job->tags : "{}";

	json_raw_escaped(j, tags, strlen(tags));
}

static void put_limits(struct json *j, const void *record)
{
	const struct job *job = record;

	json_begin_object(j);
	for (enum job_limit i = 0; i < JOB_LIMIT_COUNT; i++)
		if (job->limit[i]) {
			json_key(j, job_limit_name(i));
			field_metric_json(j, job_limit_unit(i), job->limit[i]);
		}
	json_end_object(j);
}

static void put_limits_hit(struct json *j, const void *record)
{
	const struct job *job = record;

	json_begin_array(j);
	for (enum job_limit i = 0; i < JOB_LIMIT_COUNT; i++)
		if (job->limits_hit >> i & 1)
			json_str(j, job_limit_name(i));
	json_end_array(j);
}

static void put_figures(struct json *j, const void *record)
{
	const struct job *job = record;

	json_begin_object(j);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++) {
		if (!job_shows_figure(job, (enum job_figure)i))
			continue;
		json_key(j, job_figures[i].key);
		field_figure_json(j, job_figures[i].unit, job->figures[i]);
	}
	json_end_object(j);
}

static void put_qualities(struct json *j, const void *record)
{
	const struct job *job = record;

	json_begin_object(j);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		if (job_shows_figure(job, (enum job_figure)i))
			json_put_str(j, job_figures[i].key, quality_key(job->figures[i].quality));
	json_end_object(j);
}

static const char *job_status(const void *record)
{
	return job_status_name(((const struct job *)record)->status);
}

static const char *outcome(const void *record)
{
	return job_outcome(record);
}

static const char *oom(const void *record)
{
	return cause_proof_name(((const struct job *)record)->cause.oom);
}

static const char *oom_source(const void *record)
{
	return cause_source_name(((const struct job *)record)->cause.oom_source);
}

static const char *sender(const void *record)
{
	return cause_sender_name(((const struct job *)record)->cause.sender);
}

static const char *sender_source(const void *record)
{
	return cause_source_name(((const struct job *)record)->cause.sender_source);
}

static void put_sender_uid(struct json *j, const void *record)
{
	const struct cause *cause = &((const struct job *)record)->cause;

	if (cause->sender_pid)
		json_u64(j, cause->sender_uid);
	else
		json_nil(j);
}

#define STARTED_HELP "when it started, seconds since 1970"
#define ENDED_HELP "when it ended; null: it has not, or nobody saw it"
#define SIGNAL_HELP "the signal it died of; null: none"

#define RECORD struct job
static const struct field job_rows[] = {
	{ "job_id", FIELD(TEXT, id), .in = IN_LIST | IN_CSV, .help = "its id" },
	{ "job_type", FIELD(TEXT, type), .in = IN_LIST | IN_EVENT | IN_CSV,
	  .help = "what runs are compared by: --name, or from the command" },
	{ "job_type_given", FIELD(BOOL, type_is_given), .help = "whether --name gave the type" },
	{ "parent_job_id", FIELD(TEXT, parent), .in = IN_LIST,
	  .help = "the job it was started in" },
	{ "parent_uid", FIELD(CODE, parent_uid), .has = offsetof(struct job, has_parent_uid),
	  .in = IN_LIST, .help = "… its user; null: there is none" },
	{ "command", FIELD(TEXT, command), .in = IN_LIST | IN_CSV,
	  .help = "its command line, secrets removed" },
	{ "cwd", FIELD(TEXT, cwd), .in = IN_LIST, .help = "the directory it was started in" },
	{ "uid", FIELD(NUMBER, uid), .in = IN_LIST | IN_CSV, .help = "its user" },
	{ "tags", FIELD_PUT, .put = put_tags, .in = IN_LIST,
	  .help = "its tags, an object of texts" },
	{ "tier", FIELD(TEXT, tier), .in = IN_LIST, .help = "how it was watched" },
	{ "interval_seconds", FIELD(ORDINAL, interval_ns), .unit = UNIT_NS,
	  .help = "longest time between two samples" },
	{ "status", FIELD_NAME, .name = job_status, .in = IN_LIST | IN_EVENT | IN_CSV,
	  .help = "running, completed, failed or lost" },
	{ "outcome", FIELD_NAME, .name = outcome, .in = IN_CSV,
	  .help = "ok, running, lost, oom, limit, signal or failed" },
	{ "started_at", FIELD(ORDINAL, started_ns), .unit = UNIT_NS, .in = IN_LIST | IN_CSV,
	  .help = STARTED_HELP },
	{ "ended_at", FIELD(ORDINAL, ended_ns), .unit = UNIT_NS, .in = IN_LIST | IN_CSV,
	  .help = ENDED_HELP },
	{ "duration_seconds", FIELD(ORDINAL, took_ns), .unit = UNIT_NS, .in = IN_CSV,
	  .help = "wall time by the monotonic clock" },
	FIELD_EXIT_CODE(exit_code, has_exit_code),
	{ "signal_num", FIELD(ORDINAL, signal), .in = IN_LIST | IN_EVENT | IN_CSV,
	  .help = SIGNAL_HELP },
	{ "core_dumped", FIELD(BOOL, core_dumped), .help = "whether its command dumped core" },
	{ "signal_sender", FIELD_NAME, .name = sender, .in = IN_ANNOUNCED,
	  .help = "what sent that signal: process, itself, kernel, terminal; null: not known" },
	{ "signal_sender_pid", FIELD(ORDINAL, cause.sender_pid), .in = IN_ANNOUNCED,
	  .help = "… its pid" },
	{ "signal_sender_uid", FIELD_PUT, .put = put_sender_uid, .in = IN_ANNOUNCED,
	  .help = "… its user" },
	{ "signal_sender_command", FIELD(TEXT, cause.sender_comm), .in = IN_ANNOUNCED,
	  .help = "… its name" },
	{ "signal_sender_source", FIELD_NAME, .name = sender_source, .in = IN_ANNOUNCED,
	  .help = "… what reported it: bpf, daemon or recorder" },
	{ "oom", FIELD_NAME, .name = oom, .in = IN_ANNOUNCED,
	  .help = "whether it failed because memory ran out: proven or likely; null: no" },
	{ "oom_source", FIELD_NAME, .name = oom_source, .in = IN_ANNOUNCED,
	  .help = "… what shows it: bpf, daemon, cgroup, vmstat or limit" },
	{ "oom_limit_mb", FIELD(ORDINAL, cause.oom_limit_bytes), .unit = UNIT_MIB,
	  .in = IN_ANNOUNCED, .help = "… the limit that was reached; null: not known" },
	{ "oom_cgroup", FIELD(TEXT, cause.oom_group), .in = IN_ANNOUNCED,
	  .help = "… the control group of that limit; null: not known, or the job's own" },
	{ "total_sheets", FIELD(ORDINAL, total_sheets), .in = IN_LIST,
	  .help = "sheets it has; null: not known" },
	{ "last_completed_sheet", FIELD(NUMBER, last_completed_sheet), .in = IN_LIST,
	  .help = "highest sheet that was completed; 0: none" },
	{ "current_sheet", FIELD(ORDINAL, current_sheet), .in = IN_LIST,
	  .help = "highest sheet that runs" },
	{ "limits", FIELD_PUT, .put = put_limits, .in = IN_ANNOUNCED,
	  .help = "limits that were set" },
	{ "limits_hit", FIELD_PUT, .put = put_limits_hit, .in = IN_ANNOUNCED,
	  .help = "limits that were reached" },
	{ "allowed_memory_mb", FIELD(ORDINAL, allowed.memory_bytes), .unit = UNIT_MIB,
	  .in = IN_LIST, .help = "memory it could use: the limit in force as it started" },
	{ "allowed_memory_source", FIELD(TEXT, allowed.memory_source), .in = IN_LIST,
	  .help = "… whose limit: own, ulimit, machine, or the path of a control group" },
	{ "allowed_cores", FIELD(ORDINAL, allowed.milli_cores), .unit = UNIT_MILLI, .in = IN_LIST,
	  .help = "cores it could use, by affinity, cpuset and quota" },
	{ "allowed_seconds", FIELD(ORDINAL, allowed.time_ns), .unit = UNIT_NS, .in = IN_LIST,
	  .help = "time it could take; null: not limited" },
	{ "recorded_as", FIELD(TEXT, recorded_as),
	  .help = "its id in the store of a recorder of its own; null: it has none" },
	{ "recording", FIELD(TEXT, recording),
	  .help = "random name of this recording, equal in its own store and the daemon's; null: only the daemon has it" },
	{ "hungriest_pid", FIELD(ORDINAL, largest_pid),
	  .help = "the process with the highest peak" },
	{ "hungriest_command", FIELD(TEXT, largest_name), .help = "… and its name" },
	{ "figures", FIELD_PUT, .put = put_figures, .help = "what it used: see figures" },
	{ "quality", FIELD_PUT, .put = put_qualities,
	  .help = "exact, at_least, sampled or missing, for each figure" },
};
#undef RECORD
const struct field_table job_fields = FIELD_TABLE(job_rows);

static const char *sheet_status(const void *record)
{
	return job_status_name(((const struct sheet_record *)record)->s.status);
}

static const char *sheet_missing_reason(const void *record)
{
	return sheet_lack_reason(((const struct sheet_record *)record)->use.lack);
}

#define CPU_HELP "CPU time of its processes"
#define MAX_CPU_HELP "most CPU of one process, percent of a core"

#define RECORD struct sheet_record
static const struct field sheet_rows[] = {
	{ "sheet_num", FIELD(NUMBER, s.num), .in = IN_LIST | IN_EVENT, .help = "its number" },
	{ "label", FIELD(TEXT, s.label), .in = IN_LIST | IN_EVENT, .help = "its label" },
	{ "status", FIELD_NAME, .name = sheet_status, .in = IN_LIST | IN_EVENT,
	  .help = "running, completed, failed or lost" },
	{ "started_at", FIELD(ORDINAL, s.started_ns), .unit = UNIT_NS, .in = IN_LIST,
	  .help = STARTED_HELP },
	{ "ended_at", FIELD(ORDINAL, s.ended_ns), .unit = UNIT_NS, .in = IN_LIST, .help = ENDED_HELP },
	FIELD_EXIT_CODE(s.exit_code, s.has_exit_code),
	{ "signal_num", FIELD(ORDINAL, s.signal), .in = IN_LIST | IN_EVENT, .help = SIGNAL_HELP },
	{ "pid", FIELD(ORDINAL, s.pid), .in = IN_LIST | IN_EVENT, .help = "the process that opened it" },
	{ "processes", FIELD(NUMBER, use.processes), .help = "processes it had" },
#define X(id, key_, unit_, help_)                                                                  \
	{ key_, FIELD(FIGURE, use.figures[SHEET_FIGURE_##id]), .unit = UNIT_##unit_,               \
	  .help = (help_) },
	SHEET_FIGURES(X)
#undef X
		{ "max_cpu_pct", FIELD(RATIO, use.max_cpu_ratio), .decimals = 2, .is_sampled = true,
	          .help = MAX_CPU_HELP },
	{ "missing_reason", FIELD_NAME, .name = sheet_missing_reason,
	  .help = "why it has no figures; null: it has them" },
	{ "quality", FIELD_QUALITY, .help = "exact, at_least, at_most, sampled or missing" },
};
#undef RECORD
const struct field_table sheet_fields = FIELD_TABLE(sheet_rows);

static enum quality process_start_quality(const void *record)
{
	return ((const struct process_record *)record)->is_start_exact ? QUALITY_EXACT
	                                                               : QUALITY_SAMPLED;
}

#define RECORD struct process_record
static const struct field process_rows[] = {
	{ "pid", FIELD(NUMBER, id.pid), .in = IN_CSV, .help = "process id" },
	{ "ppid", FIELD(ORDINAL, ppid), .in = IN_CSV, .help = "its parent as it began" },
	{ "start_ticks", FIELD(NUMBER, id.start_ticks),
	  .help = "start in ticks since boot: with the pid, one life" },
	{ "uid", FIELD(NUMBER, uid), .in = IN_CSV, .help = "its user" },
	{ "sheet_num", FIELD(ORDINAL, sheet), .in = IN_CSV,
	  .help = "the sheet it belongs to; null: none" },
	{ "name", FIELD(STRING, comm), .in = IN_CSV, .help = "its short name" },
	{ "command", FIELD(STRING, command), .in = IN_CSV,
	  .help = "its command line, secrets removed" },
	{ "started_at", FIELD(ORDINAL, started_ns), .unit = UNIT_NS,
	  .quality = process_start_quality, .in = IN_CSV, .help = STARTED_HELP },
	{ "ended_at", FIELD(ORDINAL, ended_ns), .unit = UNIT_NS, .in = IN_CSV, .help = ENDED_HELP },
	FIELD_EXIT_CODE(exit_code, has_exit_code),
	{ "signal_num", FIELD(ORDINAL, signal), .in = IN_CSV, .help = SIGNAL_HELP },
	{ "core_dumped", FIELD(BOOL, core_dumped), .help = "whether it dumped core" },
	{ "cpu_seconds", FIELD(FIGURE, cpu_time_ns), .unit = UNIT_NS, .in = IN_CSV,
	  .help = "its CPU time" },
	{ "peak_rss_mb", FIELD(FIGURE, peak_rss_bytes), .unit = UNIT_MIB, .in = IN_CSV,
	  .help = "most resident memory it ever had" },
	{ "read_bytes", FIELD(FIGURE, read_bytes), .unit = UNIT_BYTES, .in = IN_CSV,
	  .help = "read from storage" },
	{ "written_bytes", FIELD(FIGURE, written_bytes), .unit = UNIT_BYTES, .in = IN_CSV,
	  .help = "written to storage" },
	{ "max_cpu_pct", FIELD(RATIO, max_cpu_ratio), .decimals = 2, .is_sampled = true,
	  .in = IN_CSV, .help = "most CPU between two samples, percent of a core" },
	{ "quality", FIELD_QUALITY, .help = "exact, at_least, at_most, sampled or missing" },
};
#undef RECORD
const struct field_table process_fields = FIELD_TABLE(process_rows);

static const char *event_type(const void *record)
{
	return event_name(((const struct event_record *)record)->kind);
}

#define RECORD struct event_record
#define EVENT_ROWS                                                                                 \
	{ "timestamp", FIELD(ORDINAL, wall_ns), .unit = UNIT_NS,                                   \
	  .help = "when, seconds since 1970" },                                                    \
		{ "pid", FIELD(ORDINAL, process.pid),                                              \
		  .help = "the process it is about; null: none" },                                 \
		{ "event_type", FIELD_NAME, .name = event_type,                                    \
		  .help = "spawn, exit, signal, …" },                                              \
		FIELD_EXIT_CODE(exit_code, has_exit_code),                                         \
		{ "signal_num", FIELD(ORDINAL, signal),                                            \
		  .help = "the signal that was sent or died of" },                                 \
		FIELDS_JOB
#define EVENT_DETAILS                                                                              \
	{                                                                                          \
		"details", FIELD(WORDS, details), .help = "sender, command line, data or reason"   \
	}
static const struct field event_rows[] = {
	EVENT_ROWS,
	{ "name", FIELD(STRING, name), .help = "of a mark, a phase, a limit, an anomaly" },
	EVENT_DETAILS,
	{ "inferred", FIELD(BOOL, inferred), .help = "found by comparing two ticks: rough" },
	{ "count", FIELD(ORDINAL, count), .help = "events lost, or nanoseconds it took" },
};
static const struct field live_event_rows[] = {
	EVENT_ROWS,
	EVENT_DETAILS,
	{ "name", FIELD(STRING, name), .is_optional = true, .help = "of a mark, a phase, a limit" },
};
#undef RECORD
const struct field_table event_fields = FIELD_TABLE(event_rows);
const struct field_table live_event_fields = FIELD_TABLE(live_event_rows);

#define RECORD struct job_sum_record
static const struct field job_sum_rows[] = {
	{ "timestamp", FIELD(ORDINAL, wall_ns), .unit = UNIT_NS,
	  .help = "when, seconds since 1970" },
	{ "processes", FIELD(NUMBER, sum.procs), .help = "processes alive" },
	{ "rss_mb", FIELD(NUMBER, sum.rss_bytes), .unit = UNIT_MIB,
	  .help = "their resident memory; shared pages count for each" },
	{ "cpu_percent", FIELD(RATIO, sum.cpu_ratio), .decimals = 2,
	  .help = "CPU of the job since the sample before, percent of a core" },
	{ "used_mb", FIELD(FIGURE, sum.used), .unit = UNIT_MIB,
	  .help = "memory in use that dropping the page cache cannot free" },
	{ "charged_mb", FIELD(FIGURE, sum.charged), .unit = UNIT_MIB,
	  .help = "memory charged to its control group, page cache included" },
	{ "cpu_seconds", FIELD(FIGURE, sum.cpu_ns), .unit = UNIT_NS,
	  .help = "CPU time of the job by then" },
	{ "read_bytes", FIELD(FIGURE, sum.read), .unit = UNIT_BYTES,
	  .help = "read from storage by then, at least" },
	{ "written_bytes", FIELD(FIGURE, sum.written), .unit = UNIT_BYTES,
	  .help = "written to storage by then, at least" },
	{ "gpu_memory_mb", FIELD(FIGURE, sum.gpu_memory), .unit = UNIT_MIB, .is_optional = true,
	  .help = "memory that its own processes hold on GPUs" },
	{ "gpu_sm_pct", FIELD(FIGURE, sum.gpu_sm), .unit = UNIT_PCT, .is_optional = true,
	  .help = "their share of one GPU's processors, all GPUs added" },
	{ "gpu_device_mb", FIELD(FIGURE, sum.gpu_device_memory), .unit = UNIT_MIB,
	  .is_optional = true, .help = "memory in use on the GPUs it uses: by all that run there" },
	{ "gpu_util_pct", FIELD(FIGURE, sum.gpu_util), .unit = UNIT_PCT, .is_optional = true,
	  .help = "load of the GPUs it uses, mean: by all that run there" },
	{ "gpu_energy_wh", FIELD(FIGURE, sum.gpu_energy), .unit = UNIT_WH, .is_optional = true,
	  .help = "energy that GPUs drew for it by then" },
};
#undef RECORD
const struct field_table job_sum_fields = FIELD_TABLE(job_sum_rows);

#define RECORD struct process_sample_record
static const struct field process_sample_rows[] = {
	{ "timestamp", FIELD(ORDINAL, wall_ns), .unit = UNIT_NS,
	  .help = "when, seconds since 1970" },
	{ "pid", FIELD(NUMBER, id.pid), .help = "process id" },
	{ "start_ticks", FIELD(NUMBER, id.start_ticks),
	  .help = "start in ticks since boot: with the pid, one life" },
	{ "name", FIELD(STRING, comm), .help = "its short name" },
	{ "sheet_num", FIELD(ORDINAL, sheet), .help = "the sheet at that time; null: none" },
	{ "cpu_percent", FIELD(RATIO, cpu_ratio), .decimals = 2,
	  .help = "CPU since the sample before, percent of a core" },
	{ "rss_mb", FIELD(FIGURE, rss), .unit = UNIT_MIB, .help = "resident memory" },
	{ "pss_mb", FIELD(FIGURE, pss), .unit = UNIT_MIB,
	  .help = "… shared pages divided by their users, as read last" },
	{ "uss_mb", FIELD(FIGURE, uss), .unit = UNIT_MIB,
	  .help = "… that no other process shares, as read last" },
	{ "threads", FIELD(FIGURE, threads), .help = "threads" },
	{ "open_fds", FIELD(FIGURE, fds), .help = "open file descriptors" },
	{ "read_bytes", FIELD(FIGURE, read), .unit = UNIT_BYTES,
	  .help = "read from storage by then, by children it waited for too" },
	{ "written_bytes", FIELD(FIGURE, written), .unit = UNIT_BYTES,
	  .help = "written to storage by then, likewise" },
	{ "gpu_memory_mb", FIELD(FIGURE, gpu_memory), .unit = UNIT_MIB, .is_optional = true,
	  .help = "memory it holds on all GPUs together" },
	{ "gpu_sm_pct", FIELD(FIGURE, gpu_sm_pct), .is_optional = true,
	  .help = "percent of one GPU's processors, all GPUs added" },
};
#undef RECORD
const struct field_table process_sample_fields = FIELD_TABLE(process_sample_rows);

#define RECORD struct gpu_sample_record
static const struct field gpu_sample_rows[] = {
	{ "timestamp", FIELD(ORDINAL, wall_ns), .unit = UNIT_NS,
	  .help = "when, seconds since 1970" },
	{ "gpu_index", FIELD(NUMBER, index), .help = "the driver's number" },
	{ "name", FIELD(STRING, name), .help = "its model" },
#define X(id, key_, unit_, kind_, need_, help_)                                                    \
	{ key_, FIELD(FIGURE, r[GPU_##id]), .unit = UNIT_##unit_, .help = (help_) },
	GPU_METRICS(X)
#undef X
		{ "own_memory_mb", FIELD(FIGURE, own_memory), .unit = UNIT_MIB,
	          .help = "memory that the job's own processes hold on it" },
	{ "own_sm_pct", FIELD(FIGURE, own_sm_pct),
	  .help = "percent of its processors that they kept busy" },
};
#undef RECORD
const struct field_table gpu_sample_fields = FIELD_TABLE(gpu_sample_rows);

#define RECORD struct export_place
static const struct field export_rows[] = {
	{ "job_id", FIELD(STRING, job_id), .help = "the job it belongs to" },
	{ "elapsed", FIELD(FIGURE, elapsed_ns), .unit = UNIT_NS,
	  .help = "when: since the start of the job; of a process, its start" },
};
#undef RECORD
const struct field_table export_fields = FIELD_TABLE(export_rows);

static const char *severity(const void *record)
{
	return anomaly_severity_name(((const struct anomaly_record *)record)->severity);
}

static const char *basis(const void *record)
{
	return anomaly_basis(((const struct anomaly_record *)record)->runs);
}

#define RECORD struct anomaly_record
static const struct field anomaly_rows[] = {
	{ "timestamp", FIELD(ORDINAL, began_ns), .unit = UNIT_NS,
	  .help = "when it began, seconds since 1970" },
	{ "anomaly_type", FIELD(STRING, kind), .help = "memory_spike, runaway_process, zombie, …" },
	{ "severity", FIELD_NAME, .name = severity, .help = "low, medium, high or critical" },
	{ "pid", FIELD(ORDINAL, process.pid),
	  .help = "its process; null: the whole job or machine" },
	FIELDS_JOB,
	{ "description", FIELD(STRING, description), .help = "the same in a sentence" },
	{ "metric_value", FIELD(REAL, value), .decimals = 3, .help = "the value as it began" },
	{ "threshold", FIELD(REAL, threshold), .decimals = 3,
	  .help = "the value from which it is an anomaly" },
	{ "peak", FIELD(REAL, peak), .decimals = 3, .help = "the worst value" },
	{ "ended", FIELD(ORDINAL, ended_ns), .unit = UNIT_NS,
	  .help = "when it ended; null while it lasts" },
	{ "basis", FIELD_NAME, .name = basis,
	  .help = "by what it was judged: threshold, or history of its job type" },
	{ "earlier_runs", FIELD(ORDINAL, runs), .help = "… so many runs; null: not by history" },
};
#undef RECORD
const struct field_table anomaly_fields = FIELD_TABLE(anomaly_rows);

#define RECORD struct last_call_record
static const struct field last_call_rows[] = {
	{ "pid", FIELD(NUMBER, process.pid), .help = "of the process that failed" },
	{ "tid", FIELD(ORDINAL, tid), .help = "of the thread that made the call" },
	{ "timestamp", FIELD(ORDINAL, began_ns), .unit = UNIT_NS,
	  .help = "when it began, seconds since 1970" },
	{ "seconds", FIELD(REAL, seconds), .decimals = 9,
	  .help = "how long it took; null: it did not return" },
	{ "call", FIELD(STRING, call), .help = "its name" },
	{ "result", FIELD(REAL, result), .decimals = 0,
	  .help = "what it returned, -1 if it failed; null: it did not return" },
	{ "error", FIELD(STRING, error), .help = "name of the error; null: none" },
	{ "text", FIELD(STRING, text), .help = "all of it, as strace writes it" },
};
#undef RECORD
const struct field_table last_call_fields = FIELD_TABLE(last_call_rows);

#define RECORD struct gpu_record
static const struct field gpu_rows[] = {
	{ "index", FIELD(NUMBER, index), .help = "the driver's number" },
	{ "name", FIELD(STRING, name), .help = "its model" },
	{ "gpu_util_mean_pct", FIELD(RATIO, util_mean_ratio), .decimals = 1,
	  .help = "time in which it computed, mean" },
	{ "gpu_util_max_pct", FIELD(RATIO, util_max_ratio), .decimals = 1,
	  .help = "… and maximum" },
	{ "peak_vram_mb", FIELD(REAL, mem_peak_bytes), .unit = UNIT_MIB, .decimals = 1,
	  .help = "most memory in use" },
	{ "memory_total_mb", FIELD(REAL, mem_total_bytes), .unit = UNIT_MIB, .decimals = 1,
	  .help = "memory it has" },
	{ "power_watts_mean", FIELD(REAL, power_mean_w), .decimals = 1,
	  .help = "power drawn, mean" },
	{ "power_watts_max", FIELD(REAL, power_max_w), .decimals = 1, .help = "… and maximum" },
	{ "own_peak_vram_mb", FIELD(REAL, own_peak_bytes), .unit = UNIT_MIB, .decimals = 1,
	  .help = "most memory that the job's own processes held; null: not known" },
	{ "used_by_job", FIELD(BOOL, is_used), .help = "whether a process of the job was on it" },
};
#undef RECORD
const struct field_table gpu_fields = FIELD_TABLE(gpu_rows);

#define RECORD struct profile_sheet
static const struct field profile_sheet_rows[] = {
	{ "peak_rss_mb", FIELD(FIGURE, peak_rss_bytes), .unit = UNIT_MIB,
	  .help = "peak of its largest process" },
	{ "max_cpu_pct", FIELD(RATIO, max_cpu_ratio), .decimals = 2, .is_sampled = true,
	  .help = MAX_CPU_HELP },
};
#undef RECORD
const struct field_table profile_sheet_fields = FIELD_TABLE(profile_sheet_rows);

/* An object with one for each sheet, by its number. */
static void put_each_sheet(struct json *j, const struct job_profile *p,
                           void (*put)(struct json *j, const struct field_table *table,
                                       const void *record))
{
	json_begin_object(j);
	vec_each(&p->sheets, sheet) {
		char num[16];

		snprintf(num, sizeof num, "%u", sheet->num);
		json_key(j, num);
		json_begin_object(j);
		put(j, &profile_sheet_fields, sheet);
		json_end_object(j);
	}
	json_end_object(j);
}

static void put_sheet_metrics(struct json *j, const void *record)
{
	put_each_sheet(j, record, field_table_json);
}

void record_fields_sheet_qualities_json(struct json *j, const struct job_profile *p)
{
	put_each_sheet(j, p, field_table_json_qualities);
}

#define HOTSPOT_RATIO 0.01

static void put_hotspots(struct json *j, const void *record)
{
	const struct job_profile *p = record;

	json_begin_object(j);
	vec_each(&p->syscalls, call) {
		if (call->time_ratio < HOTSPOT_RATIO)
			break;
		json_key(j, call->name);
		json_double(j, 100 * call->time_ratio, 2);
	}
	json_end_object(j);
}

#define RECORD struct job_profile
static const struct field profile_rows[] = {
	{ "job_id", FIELD(TEXT, job_id), .help = "its id" },
	{ "peak_rss_mb", FIELD(FIGURE, peak_rss_bytes), .unit = UNIT_MIB,
	  .help = "peak of its largest process" },
	{ "total_cpu_seconds", FIELD(FIGURE, cpu_time_ns), .unit = UNIT_NS, .help = CPU_HELP },
	{ "process_spawn_count", FIELD(FIGURE, spawns), .help = "processes it had" },
	{ "unique_pid_count", FIELD(NUMBER, unique_pids), .help = "pids they had" },
#define FIGURE(id, key_, unit_, label_, help_)                                                     \
	{ key_, FIELD(FIGURE, figures[JOB_FIGURE_##id]), .unit = UNIT_##unit_,                     \
	  .is_optional = true, .help = (help_) },
	JOB_GPU_FIGURES(FIGURE)
#undef FIGURE
		{ "syscall_hotspots", FIELD_PUT, .put = put_hotspots,
	          .help = "share of the time in system calls, of those with 1 % or more" },
	{ "sheet_metrics", FIELD_PUT, .put = put_sheet_metrics,
	  .help = "peak and CPU of each sheet" },
};
#undef RECORD
const struct field_table profile_fields = FIELD_TABLE(profile_rows);
