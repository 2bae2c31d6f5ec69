/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "model/tags.h"
#include "view/facts.h"
#include "view/format.h"
#include "view/job_view.h"
#include "view/report.h"
#include "view/report_part.h"

/* Of a shorter job the share says nothing: what a recorder takes to start outweighs it. */
#define SHARE_LEAST_NS NS_PER_S

static bool knows(const struct job *job, enum job_figure id)
{
	return figure_is_known(job->figures[id]);
}

static void begin(struct facts *f, const struct job *job, const char *label, enum job_figure id)
{
	facts_begin(f, label, job_quality(job, job->figures[id].quality).at);
}

static void put_when(struct facts *f, const struct report *r)
{
	const struct job *job = &r->job;
	uint64_t took = report_took_ns(r);

	facts_part(f, "%s", format_time(job->started_ns).at);
	if (job->ended_ns)
		facts_join(f, FACT_WORD, "to %s",
		           took < 12 * 3600 * NS_PER_S ? format_clock(job->ended_ns).at
		                                       : format_time(job->ended_ns).at);
	if (took && job_command_ns(job))
		facts_join(f, FACT_WORD, "(%s, its command %s)", format_duration(took).at,
		           format_duration(job_command_ns(job)).at);
	else if (took)
		facts_join(f, FACT_WORD, "(%s%s%s)", job->status == JOB_LOST ? "at least " : "",
		           format_duration(took).at, job->status == JOB_RUNNING ? " so far" : "");
	if (r->host)
		facts_part(f, "host %s", r->host);
	if (r->user)
		facts_join(f, r->host ? FACT_COMMA : FACT_GLANCE, "user %s", r->user);
}

static void put_tags(struct facts *f, const char *tags)
{
	struct scan at = scan_str(tags);
	struct buf key = { 0 }, value = { 0 };
	bool is_first = true;

	while (tags_next(&at, &key, &value)) {
		if (is_first)
			facts_begin(f, "tags", "");
		facts_join(f, FACT_COMMA, "%s=%s", key.at ? key.at : "", value.at ? value.at : "");
		is_first = false;
	}
	buf_done(&key);
	buf_done(&value);
}

static void put_head(const struct report *r, struct canvas *to)
{
	const struct job *job = &r->job;
	struct facts f = { .indent = 2, .label_columns = 10 };

	facts_begin_head(&f, job->id, "");
	facts_part(&f, "%s", job->type);
	facts_part(&f, "%s%s", job->status == JOB_FAILED ? "FAILED: " : "", job_result(job).at);
	put_when(&f, r);
	facts_ink(&f, job->status == JOB_FAILED ? INK_BAD : INK_PLAIN);
	if (*job->command) {
		facts_begin(&f, "command", "");
		facts_part(&f, "%s", job->command);
	}
	if (*job->cwd) {
		facts_begin(&f, "in", "");
		facts_part(&f, "%s", job->cwd);
	}
	if (*job->parent) {
		facts_begin(&f, "part of", "");
		facts_join(&f, FACT_WHOLE, "job %s", job->parent);
	}
	put_tags(&f, job->tags);
	facts_print(&f, to);
	facts_done(&f);
}

static void put_cpu_parts(struct facts *f, const struct job *job)
{
	if (job_cpu_parts(job) == QUALITY_MISSING)
		return;
	facts_part(f, "%s user", job_figure_words(job, JOB_FIGURE_CPU_USER).at);
	facts_comma(f, "%s sys", job_figure_words(job, JOB_FIGURE_CPU_SYSTEM).at);
}

static void put_cpu(struct facts *f, const struct report *r)
{
	const struct job *job = &r->job;
	enum quality parts = job_cpu_parts(job);
	double cores = job_cores(job);

	begin(f, job, "CPU", JOB_FIGURE_CPU);
	facts_part(f, "%s", job_figure_words(job, JOB_FIGURE_CPU).at);
	if (parts == job->figures[JOB_FIGURE_CPU].quality)
		put_cpu_parts(f, job);
	if (isfinite(cores) && r->cpus)
		facts_part(f, "%s of %u core%s busy", job_cores_words(cores).at, r->cpus,
		           r->cpus == 1 ? "" : "s");
	else if (isfinite(cores))
		facts_part(f, "%s cores busy", job_cores_words(cores).at);
	if (parts != job->figures[JOB_FIGURE_CPU].quality && parts != QUALITY_MISSING) {
		facts_begin(f, "", job_quality(job, parts).at);
		put_cpu_parts(f, job);
	}
	if (knows(job, JOB_FIGURE_CPU_THROTTLED) && job->figures[JOB_FIGURE_CPU_THROTTLED].value) {
		begin(f, job, "", JOB_FIGURE_CPU_THROTTLED);
		facts_part(f, "%s held back by its limit",
		           job_figure_words(job, JOB_FIGURE_CPU_THROTTLED).at);
	}
}

static void put_memory(struct facts *f, const struct job *job)
{
	begin(f, job, "Peak memory", JOB_FIGURE_PEAK_TOTAL);
	facts_part(f, "%s", job_figure_words(job, JOB_FIGURE_PEAK_TOTAL).at);
	facts_join(f, FACT_WORD, "%s",
	           knows(job, JOB_FIGURE_PEAK_TOTAL) ? "whole job" : "for the whole job");
	if (knows(job, JOB_FIGURE_PEAK_TOTAL) && knows(job, JOB_FIGURE_PEAK_AT))
		facts_join(f, FACT_WORD, "at %s", job_figure_words(job, JOB_FIGURE_PEAK_AT).at);
	begin(f, job, "", JOB_FIGURE_PEAK_RSS);
	facts_part(f, "%s", job_figure_words(job, JOB_FIGURE_PEAK_RSS).at);
	facts_join(f, FACT_WORD, "%s",
	           knows(job, JOB_FIGURE_PEAK_RSS) ? "hungriest process"
	                                           : "for the hungriest process");
	if (job->hungriest_pid)
		facts_comma(f, "%s %d", job->hungriest, job->hungriest_pid);
	if (!knows(job, JOB_FIGURE_PEAK_CHARGED))
		return;
	begin(f, job, "", JOB_FIGURE_PEAK_CHARGED);
	facts_part(f, "%s charged", job_figure_words(job, JOB_FIGURE_PEAK_CHARGED).at);
	facts_join(f, FACT_WORD, "to its control group");
	facts_comma(f, "page cache included");
}

static void put_io(struct facts *f, const struct job *job)
{
	struct figure read = job->figures[JOB_FIGURE_READ],
		      written = job->figures[JOB_FIGURE_WRITTEN];

	facts_begin(f, "I/O", job_quality(job, MIN(read.quality, written.quality)).at);
	if (!figure_is_known(read) && !figure_is_known(written)) {
		facts_part(f, "not known");
		return;
	}
	facts_part(f, "%s read", job_figure_words(job, JOB_FIGURE_READ).at);
	facts_comma(f, "%s written", job_figure_words(job, JOB_FIGURE_WRITTEN).at);
}

/* "71 % mean, 99 % max   14.2 of 24.0 GiB   212 Wh" */
static void put_gpu(struct facts *f, const struct report *r, const struct gpu_record *g)
{
	double hours = (double)report_took_ns(r) / 3600e9;
	char label[24];

	snprintf(label, sizeof label, "GPU %u", g->index);
	facts_begin(f, label,
	            job_quality(&r->job,
	                        isfinite(g->util_mean_ratio) ? QUALITY_SAMPLED : QUALITY_MISSING)
	                    .at);
	if (isfinite(g->util_mean_ratio)) {
		facts_part(f, "%s mean", format_percent(g->util_mean_ratio).at);
		facts_comma(f, "%s max", format_percent(g->util_max_ratio).at);
	} else {
		facts_part(f, "load not known");
	}
	if (isfinite(g->mem_peak_bytes) && isfinite(g->mem_total_bytes))
		facts_part(
			f, "%s",
			format_bytes_of((uint64_t)g->mem_peak_bytes, (uint64_t)g->mem_total_bytes)
				.at);
	else if (isfinite(g->mem_peak_bytes))
		facts_part(f, "%s", format_bytes((uint64_t)g->mem_peak_bytes).at);
	if (isfinite(g->power_mean_w))
		facts_part(f, "%.3g Wh", g->power_mean_w * hours);
}

static void put_processes(struct facts *f, const struct job *job)
{
	static const struct {
		enum job_figure id;
		const char *word;
		bool if_any;
	} parts[] = {
		{ JOB_FIGURE_EXITED, "ended", false },
		{ JOB_FIGURE_FAILED, "failed", false },
		{ JOB_FIGURE_SIGNALLED, "died of a signal", true },
		{ JOB_FIGURE_OOM_KILLS, "killed for want of memory", true },
		{ JOB_FIGURE_LEAKED, "left behind", false },
	};

	begin(f, job, "Processes", JOB_FIGURE_PROCESSES);
	facts_part(f, "%s%s", job_figure_words(job, JOB_FIGURE_PROCESSES).at,
	           knows(job, JOB_FIGURE_PROCESSES) ? " started" : "");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (knows(job, parts[i].id) &&
		    (!parts[i].if_any || job->figures[parts[i].id].value))
			facts_comma(f, "%s %s", job_figure_words(job, parts[i].id).at,
			            parts[i].word);
	if (job_late(job))
		facts_comma(f, "%s ended after the command", format_count(job_late(job)).at);
}

static void put_limits(struct facts *f, const struct job *job)
{
	static const char *const names[] = { [JOB_LIMIT_MEM] = "memory",
		                             [JOB_LIMIT_CPU] = "CPU",
		                             [JOB_LIMIT_PIDS] = "",
		                             [JOB_LIMIT_TIME] = "time",
		                             [JOB_LIMIT_USER_PIDS] = "" };
	bool is_first = true;

	for (enum job_limit i = 0; i < JOB_LIMIT_COUNT; i++) {
		if (!job->limit[i])
			continue;
		if (is_first)
			facts_begin(f, "Limits", "");
		facts_comma(f, "%s%s%s%s", names[i], *names[i] ? " " : "",
		            job_limit_words(job, i).at, job->limits_hit >> i & 1 ? " (met)" : "");
		is_first = false;
	}
	if (job->limit[JOB_LIMIT_USER_PIDS])
		facts_join(f, FACT_WORD, "%s", JOB_USER_PIDS_WORDS);
}

static void put_recorder(struct facts *f, const struct report *r)
{
	const struct job *job = &r->job;
	struct figure cpu = job->figures[JOB_FIGURE_SELF_CPU];
	uint64_t took = report_took_ns(r);

	begin(f, job, "Recorder", JOB_FIGURE_SELF_CPU);
	if (figure_is_known(cpu) && took) {
		facts_part(f, "%s CPU", format_duration(cpu.value).at);
		if (took >= SHARE_LEAST_NS)
			facts_comma(f, "%s of a core",
			            format_percent((double)cpu.value / (double)took).at);
	} else {
		facts_part(f, "not known");
	}
	if (knows(job, JOB_FIGURE_SELF_RSS))
		facts_comma(f, "%s", job_figure_words(job, JOB_FIGURE_SELF_RSS).at);
	if (*job->tier) {
		facts_begin(f, "Watched by", "");
		facts_part(f, "%s", job->tier);
	}
}

static void put_totals(const struct report *r, struct canvas *to)
{
	struct facts f = { .indent = 2, .label_columns = 13 };

	canvas_title(to, "Totals");
	put_cpu(&f, r);
	put_memory(&f, &r->job);
	put_io(&f, &r->job);
	vec_each(&r->gpus, gpu)
		put_gpu(&f, r, &gpu->g);
	put_processes(&f, &r->job);
	put_limits(&f, &r->job);
	put_recorder(&f, r);
	facts_print(&f, to);
	facts_done(&f);
}

void report_view(const struct report *r, struct canvas *to)
{
	put_head(r, to);
	if (!report_has_data(r)) {
		canvas_put(to, INK_PLAIN,
		           "\nno data: nothing was recorded of it but that it was there\n");
		return;
	}
	put_totals(r, to);
	report_put_curves(r, to);
	report_put_sheets(r, to);
	report_put_programs(r, to);
	report_put_costly(r, to);
	report_put_marks(r, to);
	report_put_notes(r, to);
}
