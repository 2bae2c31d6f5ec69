/* SPDX-License-Identifier: MIT */
/* runfolder_summary.c - summary.json: who the job is, the resource summary, what it took with the
 * quality of each figure, and what is missing and why. */
#include "base/io.h"
#include "base/json.h"
#include "model/snapshot_json.h"
#include "runfolder/runfolder_handle.h"

#define SUMMARY_VERSION 1

static void put_time(struct json *j, const char *key, uint64_t wall_ns)
{
	char text[32];

	json_key(j, key);
	if (!wall_ns) {
		json_nil(j);
		return;
	}
	clock_format_utc(wall_ns, text, sizeof text);
	json_str(j, text);
}

static void put_text(struct json *j, const char *key, const char *text)
{
	json_key(j, key);
	json_str(j, *text ? text : NULL);
}

static uint64_t took_ns(const struct runfolder *f)
{
	const struct job *job = &f->job;

	if (job->took_ns)
		return job->took_ns;
	return f->last_wall_ns > job->started_ns ? f->last_wall_ns - job->started_ns : 0;
}

static void put_outcome(struct json *j, const struct job *job)
{
	json_key(j, "exit_code");
	if (job->has_exit_code)
		json_i64(j, job->exit_code);
	else
		json_nil(j);
	json_key(j, "signal");
	if (job->signal)
		json_i64(j, job->signal);
	else
		json_nil(j);
}

static void put_job(struct json *j, const struct runfolder *f)
{
	const struct job *job = &f->job;

	put_text(j, "job_id", job->id);
	if (!f->has_job)
		return;
	put_text(j, "type", job->type);
	put_text(j, "command", job->command);
	put_text(j, "status", job_status_name(job->status));
	put_outcome(j, job);
	put_time(j, "started", job->started_ns);
	put_time(j, "ended", job->ended_ns);
	json_key(j, "wall_seconds");
	json_fixed(j, (took_ns(f) + NS_PER_MS / 2) / NS_PER_MS, 3);
}

static void put_figures(struct json *j, const struct job *job)
{
	json_key(j, "figures");
	json_begin_object(j);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++) {
		const struct figure *figure = &job->figures[i];

		if (figure->quality == QUALITY_MISSING)
			continue;
		json_key(j, job_figures[i].key);
		json_begin_object(j);
		json_key(j, "value");
		metric_json(j, job_figures[i].unit, figure->value);
		json_key(j, "quality");
		json_str(j, quality_key(figure->quality));
		json_end_object(j);
	}
	json_end_object(j);
}

static const char *why_missing(const struct runfolder *f, enum resource_key key)
{
	switch (resource_keys[key].series) {
	case RESOURCE_CPU_USR_PCT:
	case RESOURCE_CPU_IDLE_PCT:
		return f->now.is_known ? "too short a time" : "/proc/stat could not be read";
	case RESOURCE_JAX_PEAK_MB:
		return "the program did not report it";
	case RESOURCE_VRAM_MB:
	case RESOURCE_GPU_UTIL_PCT:
	case RESOURCE_MEM_UTIL_PCT:
	case RESOURCE_POWER_WATTS:
	case RESOURCE_SERIES_COUNT:
		break;
	}
	return f->rows[HARDWARE_FILE_METRICS] ? "the GPU does not tell it" : f->gpu_absence;
}

/* Of a job that runs, much is known only when its processes have ended. */
static const char *why_no_figure(const struct runfolder *f)
{
	if (!f->has_job || f->job.status == JOB_RUNNING)
		return "not known yet";
	return "nothing here tells it";
}

static void put_missing(struct json *j, const struct runfolder *f,
                        const struct resource_summary *sums)
{
	uint64_t ignored;

	json_key(j, "missing");
	json_begin_object(j);
	for (enum resource_key key = 0; key < RESOURCE_KEY_COUNT; key++) {
		if (resource_summary_get(sums, key, &ignored))
			continue;
		json_key(j, resource_keys[key].key);
		json_str(j, why_missing(f, key));
	}
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++) {
		if (f->job.figures[i].quality != QUALITY_MISSING)
			continue;
		json_key(j, job_figures[i].key);
		json_str(j, why_no_figure(f));
	}
	json_end_object(j);
}

/* The line that is being gathered counts: what is said is made of it too. */
static void put_counts(struct json *j, const struct runfolder *f,
                       const struct resource_summary *sums)
{
	json_key(j, "samples");
	json_begin_object(j);
	json_key(j, "cpu");
	json_u64(j, sums->series[RESOURCE_CPU_USR_PCT].n);
	json_key(j, "gpu");
	json_u64(j, f->rows[HARDWARE_FILE_METRICS]);
	json_end_object(j);
	json_key(j, "lines_lost");
	json_u64(j, runfolder_lines_lost(f));
}

int runfolder_write_summary(struct runfolder *f, bool is_durable, struct err *err)
{
	struct resource_summary sums = runfolder_sums(f);
	struct json j = { .out = &f->text };

	buf_reset(&f->text);
	json_begin_object(&j);
	json_key(&j, "version");
	json_u64(&j, SUMMARY_VERSION);
	put_time(&j, "updated", f->last_wall_ns);
	put_job(&j, f);
	resource_summary_put(&j, &sums);
	put_figures(&j, &f->job);
	put_missing(&j, f, &sums);
	put_counts(&j, f, &sums);
	json_end_object(&j);
	buf_putc(&f->text, '\n');
	return io_replace(f->dir_fd, "summary.json", f->text.at, f->text.len, is_durable, err);
}
