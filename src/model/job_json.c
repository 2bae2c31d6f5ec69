/* SPDX-License-Identifier: MIT */
#include "model/job_json.h"

#include "model/snapshot_json.h"
#include "model/tags.h"

static void put_text(struct json *j, const char *key, const char *text)
{
	json_key(j, key);
	json_str(j, text && *text ? text : NULL);
}

static void put_u64(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_u64(j, value);
}

/* Numbers that count from 1: 0 is none. */
static void put_number(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	if (value)
		json_u64(j, value);
	else
		json_nil(j);
}

static void put_ns(struct json *j, const char *key, uint64_t ns)
{
	json_key(j, key);
	if (ns)
		metric_json(j, UNIT_NS, ns);
	else
		json_nil(j);
}

static void put_percent(struct json *j, const char *key, double ratio)
{
	json_key(j, key);
	json_double(j, ratio * 100, 2);
}

static void put_figure(struct json *j, const char *key, enum metric_unit unit, struct figure figure)
{
	json_key(j, key);
	if (figure.quality == QUALITY_MISSING)
		json_nil(j);
	else
		metric_json(j, unit, figure.value);
}

static void put_quality(struct json *j, const char *key, struct figure figure)
{
	json_key(j, key);
	json_str(j, quality_key(figure.quality));
}

/* A code or a signal, never both. */
static void put_end(struct json *j, bool has_exit_code, int exit_code, int signal)
{
	json_key(j, "exit_code");
	if (has_exit_code)
		json_i64(j, exit_code);
	else
		json_nil(j);
	put_number(j, "signal_num", (uint64_t)signal);
}

static void put_tags(struct json *j, const char *tags)
{
	struct scan at = scan_str(tags);
	struct buf key = { 0 }, value = { 0 };

	json_key(j, "tags");
	json_begin_object(j);
	while (tags_next(&at, &key, &value)) {
		json_key_text(j, key.at ? key.at : "");
		json_strn(j, value.at ? value.at : "", value.len);
	}
	json_end_object(j);
	buf_done(&key);
	buf_done(&value);
}

static void put_limits(struct json *j, const struct job *job)
{
	static const enum metric_unit units[] = {
		[JOB_LIMIT_MEM] = UNIT_BYTES,       [JOB_LIMIT_CPU] = UNIT_MILLI,
		[JOB_LIMIT_PIDS] = UNIT_COUNT,      [JOB_LIMIT_TIME] = UNIT_NS,
		[JOB_LIMIT_USER_PIDS] = UNIT_COUNT,
	};

	json_key(j, "limits");
	json_begin_object(j);
	for (enum job_limit i = 0; i < JOB_LIMIT_COUNT; i++)
		if (job->limit[i]) {
			json_key(j, job_limit_name(i));
			metric_json(j, units[i], job->limit[i]);
		}
	json_end_object(j);
	json_key(j, "limits_hit");
	json_begin_array(j);
	for (enum job_limit i = 0; i < JOB_LIMIT_COUNT; i++)
		if (job->limits_hit >> i & 1)
			json_str(j, job_limit_name(i));
	json_end_array(j);
}

void job_json_figures(struct json *j, const struct job *job)
{
	json_begin_object(j);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		put_figure(j, job_figures[i].key, job_figures[i].unit, job->figures[i]);
	json_end_object(j);
}

void job_json_qualities(struct json *j, const struct job *job)
{
	json_begin_object(j);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		put_quality(j, job_figures[i].key, job->figures[i]);
	json_end_object(j);
}

static void put_identity(struct json *j, const struct job *job)
{
	put_text(j, "job_id", job->id);
	put_text(j, "job_type", job->type);
	json_key(j, "job_type_given");
	json_bool(j, job->type_is_given);
	put_text(j, "parent_job_id", job->parent);
	put_text(j, "command", job->command);
	put_text(j, "cwd", job->cwd);
	put_u64(j, "uid", job->uid);
	put_tags(j, job->tags);
	put_text(j, "tier", job->tier);
	put_ns(j, "interval_seconds", job->interval_ns);
}

void job_json_members(struct json *j, const struct job *job)
{
	put_identity(j, job);
	put_text(j, "status", job_status_name(job->status));
	put_text(j, "outcome", job_outcome(job));
	put_ns(j, "started_at", job->started_ns);
	put_ns(j, "ended_at", job->ended_ns);
	put_ns(j, "duration_seconds", job->took_ns);
	put_end(j, job->has_exit_code, job->exit_code, job->signal);
	json_key(j, "core_dumped");
	json_bool(j, job->core_dumped);
	put_u64(j, "total_sheets", job->total_sheets);
	put_u64(j, "last_completed_sheet", job->last_completed_sheet);
	put_number(j, "current_sheet", job->current_sheet);
	put_limits(j, job);
	put_number(j, "hungriest_pid", (uint64_t)job->hungriest_pid);
	put_text(j, "hungriest_command", job->hungriest);
	json_key(j, "figures");
	job_json_figures(j, job);
	json_key(j, "quality");
	job_json_qualities(j, job);
}

void sheet_json_members(struct json *j, const struct sheet_record *s)
{
	put_u64(j, "sheet_num", s->s.num);
	put_text(j, "label", s->s.label);
	put_text(j, "status", job_status_name(s->s.status));
	put_ns(j, "started_at", s->s.started_ns);
	put_ns(j, "ended_at", s->s.ended_ns);
	put_end(j, s->s.has_exit_code, s->s.exit_code, s->s.signal);
	put_number(j, "pid", (uint64_t)s->s.pid);
	put_u64(j, "processes", s->processes);
	put_figure(j, "cpu_seconds", UNIT_NS, s->cpu_time_ns);
	put_figure(j, "peak_rss_mb", UNIT_MIB, s->peak_rss_bytes);
	put_percent(j, "max_cpu_pct", s->max_cpu_ratio);
	json_key(j, "quality");
	json_begin_object(j);
	put_quality(j, "cpu_seconds", s->cpu_time_ns);
	put_quality(j, "peak_rss_mb", s->peak_rss_bytes);
	put_text(j, "max_cpu_pct", quality_key(share_quality(s->max_cpu_ratio)));
	json_end_object(j);
}

void process_json_members(struct json *j, const struct process_record *p)
{
	put_u64(j, "pid", (uint64_t)p->id.pid);
	put_number(j, "ppid", (uint64_t)p->ppid);
	put_u64(j, "start_ticks", p->id.start_ticks);
	put_u64(j, "uid", p->uid);
	put_number(j, "sheet_num", p->sheet);
	put_text(j, "name", p->comm);
	put_text(j, "command", p->command);
	put_ns(j, "started_at", p->started_ns);
	put_ns(j, "ended_at", p->ended_ns);
	put_end(j, p->has_exit_code, p->exit_code, p->signal);
	json_key(j, "core_dumped");
	json_bool(j, p->core_dumped);
	put_figure(j, "cpu_seconds", UNIT_NS, p->cpu_time_ns);
	put_figure(j, "peak_rss_mb", UNIT_MIB, p->peak_rss_bytes);
	put_figure(j, "read_bytes", UNIT_BYTES, p->read_bytes);
	put_figure(j, "written_bytes", UNIT_BYTES, p->written_bytes);
	put_percent(j, "max_cpu_pct", p->max_cpu_ratio);
	json_key(j, "quality");
	json_begin_object(j);
	put_text(j, "started_at", quality_key(p->is_start_exact ? QUALITY_EXACT : QUALITY_SAMPLED));
	put_quality(j, "cpu_seconds", p->cpu_time_ns);
	put_quality(j, "peak_rss_mb", p->peak_rss_bytes);
	put_quality(j, "read_bytes", p->read_bytes);
	put_quality(j, "written_bytes", p->written_bytes);
	put_text(j, "max_cpu_pct", quality_key(share_quality(p->max_cpu_ratio)));
	json_end_object(j);
}

void event_json_members(struct json *j, const struct event_record *e)
{
	put_ns(j, "timestamp", e->wall_ns);
	put_number(j, "pid", (uint64_t)e->process.pid);
	put_text(j, "event_type", event_name(e->kind));
	put_end(j, e->has_exit_code, e->exit_code, e->signal);
	put_text(j, "job_id", e->job_id);
	put_number(j, "sheet_num", e->sheet);
	put_text(j, "name", e->name);
	json_key(j, "details");
	json_str(j, e->details ? e->details : "");
	json_key(j, "inferred");
	json_bool(j, e->inferred);
	json_key(j, "count");
	if (e->count)
		json_i64(j, e->count);
	else
		json_nil(j);
}

void job_sum_json_members(struct json *j, const struct job_sum_record *s)
{
	put_ns(j, "timestamp", s->wall_ns);
	put_u64(j, "processes", s->sum.procs);
	json_key(j, "rss_mb");
	metric_json(j, UNIT_MIB, s->sum.rss_bytes);
	put_percent(j, "cpu_percent", s->sum.cpu_ratio);
}

void anomaly_json_members(struct json *j, const struct anomaly_record *a)
{
	put_ns(j, "timestamp", a->began_ns);
	put_text(j, "anomaly_type", a->kind);
	put_text(j, "severity", severity_name(a->severity));
	put_number(j, "pid", (uint64_t)a->process.pid);
	put_text(j, "job_id", a->job_id);
	put_number(j, "sheet_num", a->sheet);
	put_text(j, "description", a->description);
	json_key(j, "metric_value");
	json_double(j, a->value, 3);
	json_key(j, "threshold");
	json_double(j, a->threshold, 3);
	json_key(j, "peak");
	json_double(j, a->peak, 3);
	put_ns(j, "ended", a->ended_ns);
}
