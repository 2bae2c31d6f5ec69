/* SPDX-License-Identifier: MIT */
/* A report for programs: the keys of the job resource profile on top, then all that is known. */
#include <stdio.h>

#include "model/snapshot_json.h"
#include "model/job_json.h"
#include "view/job_view.h"
#include "view/report.h"

static void put_figure(struct json *j, const char *key, enum metric_unit unit, struct figure figure)
{
	json_key(j, key);
	if (figure_is_known(figure))
		metric_json(j, unit, figure.value);
	else
		json_nil(j);
}

static void put_quality(struct json *j, const char *key, enum quality quality)
{
	json_key(j, key);
	json_str(j, quality_key(quality));
}

static void put_sheet_figures(const struct sheet_record *s, struct json *j)
{
	put_figure(j, "peak_rss_mb", UNIT_MIB, s->peak_rss_bytes);
	json_key(j, "max_cpu_pct");
	json_double(j, s->max_cpu_ratio * 100, 2);
}

static void put_sheet_qualities(const struct sheet_record *s, struct json *j)
{
	put_quality(j, "peak_rss_mb", s->peak_rss_bytes.quality);
	put_quality(j, "max_cpu_pct", share_quality(s->max_cpu_ratio));
}

/* An object with one for each sheet, by its number. */
static void put_sheet_metrics(const struct report *r, struct json *j,
                              void (*put)(const struct sheet_record *s, struct json *j))
{
	json_key(j, "sheet_metrics");
	json_begin_object(j);
	vec_each(&r->sheets, s) {
		char num[16];

		snprintf(num, sizeof num, "%u", s->s.num);
		json_key(j, num);
		json_begin_object(j);
		put(s, j);
		json_end_object(j);
	}
	json_end_object(j);
}

/* Those that were recorded: all of them only where all were told. */
static enum quality unique_pids_quality(const struct report *r)
{
	struct figure processes = r->job.figures[JOB_FIGURE_PROCESSES];
	bool is_whole = processes.quality == QUALITY_EXACT && r->processes >= processes.value &&
	                r->processes <= REPORT_LIVES_MAX;

	return is_whole ? QUALITY_EXACT : QUALITY_AT_LEAST;
}

static void put_profile_quality(const struct report *r, struct json *j)
{
	static const struct {
		const char *key;
		enum job_figure id;
	} own[] = {
		{ "total_cpu_seconds", JOB_FIGURE_CPU },
		{ "process_spawn_count", JOB_FIGURE_PROCESSES },
	};

	json_key(j, "quality");
	json_begin_object(j);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		put_quality(j, own[i].key, r->job.figures[own[i].id].quality);
	put_quality(j, "unique_pid_count", unique_pids_quality(r));
	put_quality(j, "syscall_hotspots", QUALITY_MISSING);
	put_sheet_metrics(r, j, put_sheet_qualities);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		put_quality(j, job_figures[i].key, r->job.figures[i].quality);
	json_end_object(j);
}

static void put_profile(const struct report *r, struct json *j)
{
	const struct figure *f = r->job.figures;

	json_key(j, "schema");
	json_u64(j, CODEC_JOB_SCHEMA);
	json_key(j, "job_id");
	json_str(j, r->job.id);
	put_figure(j, "peak_rss_mb", UNIT_MIB, f[JOB_FIGURE_PEAK_RSS]);
	put_figure(j, "total_cpu_seconds", UNIT_NS, f[JOB_FIGURE_CPU]);
	put_figure(j, "process_spawn_count", UNIT_COUNT, f[JOB_FIGURE_PROCESSES]);
	json_key(j, "unique_pid_count");
	json_u64(j, r->unique_pids);
	json_key(j, "syscall_hotspots");
	json_begin_object(j);
	json_end_object(j);
	put_sheet_metrics(r, j, put_sheet_figures);
	put_profile_quality(r, j);
}

static void put_gpus(const struct report *r, struct json *j)
{
	json_key(j, "gpus");
	json_begin_array(j);
	vec_each(&r->gpus, gpu) {
		const struct gpu_record *g = &gpu->g;

		json_begin_object(j);
		json_key(j, "index");
		json_u64(j, g->index);
		json_key(j, "name");
		json_str(j, *gpu->name ? gpu->name : NULL);
		json_key(j, "gpu_util_mean_pct");
		json_double(j, g->util_mean_ratio * 100, 1);
		json_key(j, "gpu_util_max_pct");
		json_double(j, g->util_max_ratio * 100, 1);
		json_key(j, "peak_vram_mb");
		json_double(j, g->mem_peak_bytes / (1 << 20), 1);
		json_key(j, "memory_total_mb");
		json_double(j, g->mem_total_bytes / (1 << 20), 1);
		json_key(j, "power_watts_mean");
		json_double(j, g->power_mean_w, 1);
		json_key(j, "power_watts_max");
		json_double(j, g->power_max_w, 1);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_programs(const struct report *r, struct json *j)
{
	json_key(j, "programs");
	json_begin_array(j);
	vec_each(&r->programs, p) {
		json_begin_object(j);
		json_key(j, "name");
		json_str(j, p->name);
		json_key(j, "processes");
		json_u64(j, p->processes);
		json_key(j, "failed");
		json_u64(j, p->failed);
		json_key(j, "signalled");
		json_u64(j, p->signalled);
		put_figure(j, "cpu_seconds", UNIT_NS, p->cpu_time_ns);
		put_figure(j, "peak_rss_mb", UNIT_MIB, p->peak_rss_bytes);
		json_key(j, "quality");
		json_begin_object(j);
		put_quality(j, "cpu_seconds", p->cpu_time_ns.quality);
		put_quality(j, "peak_rss_mb", p->peak_rss_bytes.quality);
		json_end_object(j);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_costly(const struct report *r, struct json *j)
{
	json_key(j, "costly_processes");
	json_begin_array(j);
	for (size_t i = 0; i < r->n_costly; i++) {
		struct process_record p = r->costly[i].p;

		p.comm = r->costly[i].name;
		p.command = r->costly[i].command;
		json_begin_object(j);
		process_json_members(j, &p);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_notes(const struct report *r, struct json *j)
{
	json_key(j, "notes");
	json_begin_array(j);
	vec_each(&r->notes, n) {
		json_begin_object(j);
		json_key(j, "timestamp");
		metric_json(j, UNIT_NS, n->first_ns);
		json_key(j, "what");
		json_str(j, n->what);
		json_key(j, "text");
		json_str(j, n->text);
		json_key(j, "count");
		json_u64(j, n->count);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_anomalies(const struct report *r, struct json *j)
{
	json_key(j, "anomalies");
	json_begin_array(j);
	vec_each(&r->anomalies, one) {
		struct anomaly_record a = one->a;

		a.kind = one->kind;
		a.description = one->text;
		a.job_id = a.process.pid ? r->job.id : NULL;
		json_begin_object(j);
		anomaly_json_members(j, &a);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_marks(const struct report *r, struct json *j)
{
	json_key(j, "marks");
	json_begin_array(j);
	vec_each(&r->marks, m) {
		json_begin_object(j);
		json_key(j, "timestamp");
		metric_json(j, UNIT_NS, m->wall_ns);
		json_key(j, "name");
		json_str(j, m->name);
		json_key(j, "seconds");
		if (m->took_ns)
			metric_json(j, UNIT_NS, m->took_ns);
		else
			json_nil(j);
		json_key(j, "data");
		json_str(j, m->data);
		json_end_object(j);
	}
	json_end_array(j);
}

void report_json(const struct report *r, struct json *j)
{
	json_begin_object(j);
	put_profile(r, j);
	json_key(j, "has_data");
	json_bool(j, report_has_data(r));
	json_key(j, "result");
	json_str(j, job_result(&r->job).at);
	json_key(j, "host");
	json_str(j, r->host);
	json_key(j, "user");
	json_str(j, r->user);
	json_key(j, "job");
	json_begin_object(j);
	job_json_members(j, &r->job);
	json_end_object(j);
	json_key(j, "sheets");
	json_begin_array(j);
	vec_each(&r->sheets, s) {
		json_begin_object(j);
		sheet_json_members(j, s);
		json_end_object(j);
	}
	json_end_array(j);
	put_gpus(r, j);
	put_programs(r, j);
	put_costly(r, j);
	put_anomalies(r, j);
	put_marks(r, j);
	put_notes(r, j);
	json_end_object(j);
}
