/* SPDX-License-Identifier: MIT */
/* runfolder_summary.c - summary.json: the job, the resource summary, what the job used with the quality
 * of each figure, and what is missing and why. */
#include "base/io.h"
#include "model/record_fields.h"
#include "runfolder/runfolder_handle.h"

#define SUMMARY_VERSION 1

static void put_time(struct json *j, uint64_t wall_ns)
{
	char text[32];

	if (wall_ns)
		clock_format_utc(wall_ns, text, sizeof text);
	json_str(j, wall_ns ? text : NULL);
}

static const char *status_of(const void *record)
{
	return job_status_name(((const struct job *)record)->status);
}

static void put_started(struct json *j, const void *record)
{
	put_time(j, ((const struct job *)record)->started_ns);
}

static void put_ended(struct json *j, const void *record)
{
	put_time(j, ((const struct job *)record)->ended_ns);
}

#define RECORD struct job
static const struct field job_rows[] = {
	{ "job_id", FIELD(TEXT, id) },
	{ "type", FIELD(TEXT, type) },
	{ "command", FIELD(TEXT, command) },
	{ "status", FIELD_NAME, .name = status_of },
	FIELD_EXIT_CODE(exit_code, has_exit_code),
	{ "signal", FIELD(ORDINAL, signal) },
	{ "started", FIELD_PUT, .put = put_started },
	{ "ended", FIELD_PUT, .put = put_ended },
};
#undef RECORD

static void put_job(struct json *j, const struct runfolder *f)
{
	const struct field_table rows = { job_rows, f->has_job ? ARRAY_LEN(job_rows) : 1 };
	uint64_t took_ns = f->job.took_ns;

	field_table_json(j, &rows, &f->job);
	if (!f->has_job)
		return;
	if (!took_ns && f->last_wall_ns > f->job.started_ns)
		took_ns = f->last_wall_ns - f->job.started_ns;
	json_put_fixed(j, "wall_seconds", (took_ns + NS_PER_MS / 2) / NS_PER_MS, 3);
}

static void put_figures(struct json *j, const struct job *job)
{
	json_open_object(j, "figures");
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++) {
		const struct figure *figure = &job->figures[i];

		if (figure->quality == QUALITY_MISSING)
			continue;
		json_open_object(j, job_figures[i].key);
		json_key(j, "value");
		field_metric_json(j, job_figures[i].unit, figure->value);
		json_put_str(j, "quality", quality_key(figure->quality));
		json_end_object(j);
	}
	json_end_object(j);
}

static const char *why_missing(const struct runfolder *f, enum resource_series series)
{
	if (series == RESOURCE_CPU_USR_PCT || series == RESOURCE_CPU_IDLE_PCT)
		return f->now.is_known ? "too short a time" : "/proc/stat could not be read";
	if (series == RESOURCE_JAX_PEAK_MB)
		return "the program did not report it";
	return f->rows[HARDWARE_FILE_METRICS] ? "the GPU does not report it" : "no GPU here";
}

/* Much about a running job is known only when its processes have ended. */
static void put_missing(struct json *j, const struct runfolder *f,
                        const struct resource_summary *sums)
{
	bool is_over = f->has_job && f->job.status != JOB_RUNNING;
	uint64_t ignored;

	json_open_object(j, "missing");
	for (enum resource_key key = 0; key < RESOURCE_KEY_COUNT; key++) {
		if (resource_summary_get(sums, key, &ignored))
			continue;
		json_put_str(j, resource_keys[key].key, why_missing(f, resource_keys[key].series));
	}
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++) {
		if (figure_is_known(f->job.figures[i]) || job_figures[i].need == METRIC_OPTIONAL)
			continue;
		json_put_str(j, job_figures[i].key,
		             is_over ? "not measured here" : "not known yet");
	}
	json_end_object(j);
}

/* The line that is being gathered counts: the summary includes it. */
static void put_counts(struct json *j, const struct runfolder *f,
                       const struct resource_summary *sums)
{
	uint64_t lost = f->log.file.lost + f->job_file.lost;

	for (size_t i = 0; i < HARDWARE_FILE_COUNT; i++)
		lost += f->files[i].lost;
	json_open_object(j, "samples");
	json_put_u64(j, "cpu", sums->series[RESOURCE_CPU_USR_PCT].n);
	json_put_u64(j, "gpu", f->rows[HARDWARE_FILE_METRICS]);
	json_put_u64(j, "job", f->job_rows);
	json_end_object(j);
	json_put_u64(j, "lines_lost", lost);
}

int runfolder_write_summary(struct runfolder *f, bool is_durable, struct err *err)
{
	struct resource_summary sums = runfolder_sums(f);
	struct json j = { .out = &f->text };

	buf_reset(&f->text);
	json_begin_object(&j);
	json_put_u64(&j, "version", SUMMARY_VERSION);
	json_key(&j, "updated");
	put_time(&j, f->last_wall_ns);
	put_job(&j, f);
	resource_summary_put(&j, &sums);
	put_figures(&j, &f->job);
	put_missing(&j, f, &sums);
	put_counts(&j, f, &sums);
	if (f->has_job) {
		json_key(&j, "job");
		field_table_json_object(&j, &job_fields, &f->job);
	}
	json_end_object(&j);
	buf_putc(&f->text, '\n');
	return io_replace(f->dir_fd, "summary.json", f->text.at, f->text.len, is_durable, err);
}
