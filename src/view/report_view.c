/* SPDX-License-Identifier: MIT */
#include "view/report_view.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "view/blocked_view.h"
#include "view/facts.h"
#include "view/flight_view.h"
#include "view/format.h"
#include "view/job_view.h"
#include "view/report_curves.h"
#include "view/report_tables.h"

/* Of a shorter job the share means nothing: what a recorder takes to start outweighs it. */
#define SHARE_LEAST_NS NS_PER_S

static void begin_figure(struct facts *f, const struct job *job, const char *label,
                         enum job_figure id)
{
	facts_begin(f, label, job_quality(job, job->figures[id].quality).at);
}

static void put_when(struct facts *f, const struct report *r)
{
	const struct job *job = &r->job;
	uint64_t took = job_took_ns(&r->job, r->now_ns);

	facts_part(f, "%s", format_time(job->started_ns).at);
	if (job->ended_ns)
		facts_join(f, FACT_WORD, "to %s",
		           took < 12 * 3600 * NS_PER_S ? format_clock(job->ended_ns).at
		                                       : format_time(job->ended_ns).at);
	if (took && job_command_ns(job))
		facts_join(f, FACT_WORD, "(%s%s, its command %s)", format_duration(took).at,
		           job_allowed_time_words(job).at, format_duration(job_command_ns(job)).at);
	else if (took)
		facts_join(f, FACT_WORD, "(%s%s%s%s)", job->status == JOB_LOST ? "at least " : "",
		           format_duration(took).at, job->status == JOB_RUNNING ? " so far" : "",
		           job_allowed_time_words(job).at);
	if (*r->host)
		facts_part(f, "host %s", r->host);
	if (*r->user)
		facts_join(f, *r->host ? FACT_COMMA : FACT_GLANCE, "user %s", r->user);
}

static void put_tags(struct facts *f, const char *tags)
{
	struct scan at = scan_str(tags);
	struct buf key = { 0 }, value = { 0 };
	bool is_first = true;

	while (job_tags_next(&at, &key, &value)) {
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
	struct words busy = job_cores_words(job, r->cpus);

	begin_figure(f, job, "CPU", JOB_FIGURE_CPU);
	facts_part(f, "%s", job_figure_words(job, JOB_FIGURE_CPU).at);
	if (parts == job->figures[JOB_FIGURE_CPU].quality)
		put_cpu_parts(f, job);
	if (*busy.at)
		facts_part(f, "%s", busy.at);
	if (parts != job->figures[JOB_FIGURE_CPU].quality && parts != QUALITY_MISSING) {
		facts_begin(f, "", job_quality(job, parts).at);
		put_cpu_parts(f, job);
	}
	if (job_count(job, JOB_FIGURE_CPU_THROTTLED)) {
		begin_figure(f, job, "", JOB_FIGURE_CPU_THROTTLED);
		facts_part(f, "%s held back by its limit",
		           job_figure_words(job, JOB_FIGURE_CPU_THROTTLED).at);
	}
}

static void put_memory(struct facts *f, const struct job *job)
{
	begin_figure(f, job, "Memory", JOB_FIGURE_PEAK_USED);
	facts_part(f, "%s", job_figure_words(job, JOB_FIGURE_PEAK_USED).at);
	facts_join(f, FACT_WORD, "%s",
	           job_knows(job, JOB_FIGURE_PEAK_USED) ? "used" : "how much was used");
	if (job_knows(job, JOB_FIGURE_PEAK_AT))
		facts_join(f, FACT_WORD, "at %s", job_figure_words(job, JOB_FIGURE_PEAK_AT).at);
	job_put_allowed_memory(f, job);
	if (job_knows(job, JOB_FIGURE_PEAK_CHARGED)) {
		begin_figure(f, job, "", JOB_FIGURE_PEAK_CHARGED);
		facts_part(f, "%s charged", job_figure_words(job, JOB_FIGURE_PEAK_CHARGED).at);
		facts_join(f, FACT_WORD, "to its control group");
		facts_comma(f, "page cache included");
	}
	begin_figure(f, job, "", JOB_FIGURE_PEAK_RSS);
	facts_part(f, "%s", job_figure_words(job, JOB_FIGURE_PEAK_RSS).at);
	facts_join(f, FACT_WORD, "%s",
	           job_knows(job, JOB_FIGURE_PEAK_RSS) ? "largest process"
	                                               : "for the largest process");
	if (job->hungriest_pid)
		facts_comma(f, "%s %d", job->hungriest, job->hungriest_pid);
}

static void put_io(struct facts *f, const struct job *job)
{
	struct figure read = job->figures[JOB_FIGURE_READ],
		      written = job->figures[JOB_FIGURE_WRITTEN];

	facts_begin(f, "I/O", job_quality(job, quality_join(read.quality, written.quality)).at);
	if (!figure_is_known(read) && !figure_is_known(written)) {
		facts_part(f, "not known");
		return;
	}
	facts_part(f, "%s read", job_figure_words(job, JOB_FIGURE_READ).at);
	facts_comma(f, "%s written", job_figure_words(job, JOB_FIGURE_WRITTEN).at);
}

static void put_gpu_memory(struct facts *f, const struct gpu_record *g)
{
	uint64_t held = (uint64_t)g->mem_peak_bytes;

	if (!isfinite(g->mem_peak_bytes)) {
		facts_part(f, "memory not known");
		return;
	}
	facts_part(f, "%s held",
	           isfinite(g->mem_total_bytes)
	                   ? format_bytes_of(held, (uint64_t)g->mem_total_bytes).at
	                   : format_bytes(held).at);
	if (isfinite(g->own_peak_bytes))
		facts_comma(f, "%s by this job", format_bytes((uint64_t)g->own_peak_bytes).at);
}

/* A GPU that did not answer for a while drew at least what it did in the rest of the time. */
static void put_energy(struct facts *f, const struct report *r, const struct gpu_record *g)
{
	double seconds = (double)job_took_ns(&r->job, r->now_ns) / 1e9;

	if (isfinite(g->power_mean_w))
		facts_part(f, "%s%s", g->no_power_s > 0 ? "at least " : "",
		           format_energy(g->power_mean_w * fmax(seconds - g->no_power_s, 0) / 3600)
		                   .at);
}

/* "71 % busy, 99 % peak   14.2 of 24.0 GiB held, 13.9 GiB by this job   212 Wh" */
static void put_gpu(struct facts *f, const struct report *r, const struct gpu_record *g)
{
	bool is_known = isfinite(g->util_mean_ratio) || isfinite(g->mem_peak_bytes);
	enum quality quality = !is_known                                      ? QUALITY_MISSING
	                       : job_gpu_quality(&r->job) == QUALITY_AT_LEAST ? QUALITY_AT_LEAST
	                                                                      : QUALITY_SAMPLED;
	char label[24];

	snprintf(label, sizeof label, "GPU %u", g->index);
	facts_begin(f, label, job_quality(&r->job, quality).at);
	if (isfinite(g->util_mean_ratio)) {
		facts_part(f, "%s busy", format_percent(g->util_mean_ratio).at);
		facts_comma(f, "%s peak", format_percent(g->util_max_ratio).at);
	} else {
		facts_part(f, "load not known");
	}
	put_gpu_memory(f, g);
	put_energy(f, r, g);
}

/* "64 % busy, 97 % peak   8m 07s GPU time" */
static void put_own_load(struct facts *f, const struct job *job)
{
	begin_figure(f, job, "  this job", JOB_FIGURE_GPU_TIME);
	if (!job_knows(job, JOB_FIGURE_GPU_TIME)) {
		facts_part(f, "load not known");
		return;
	}
	facts_part(f, "%s busy", job_figure_words(job, JOB_FIGURE_GPU_SM).at);
	if (job_knows(job, JOB_FIGURE_GPU_SM_MAX))
		facts_comma(f, "%s peak", job_figure_words(job, JOB_FIGURE_GPU_SM_MAX).at);
	facts_part(f, "%s GPU time", job_figure_words(job, JOB_FIGURE_GPU_TIME).at);
	if (job_count(job, JOB_FIGURE_GPUS) > 1)
		facts_comma(f, "all GPUs added");
}

/* Those of the job; where the driver does not list processes, all. */
static void put_gpus(struct facts *f, const struct report *r)
{
	const struct job *job = &r->job;
	bool knows = job_knows(job, JOB_FIGURE_GPUS);

	vec_each(&r->gpus, gpu)
		if (!knows || gpu->g.is_used)
			put_gpu(f, r, &gpu->g);
	if (job_knows(job, JOB_FIGURE_GPU_TIME) || job_knows(job, JOB_FIGURE_GPU_HELD)) {
		put_own_load(f, job);
		job_put_gpu_cost(f, job, "");
	} else if (r->gpus.len && !knows && job_knows(job, JOB_FIGURE_GPU_UTIL)) {
		facts_begin(f, "  this job", job_quality(job, QUALITY_MISSING).at);
		facts_part(f, "not known: the driver does not say whose processes these are");
	}
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
		{ JOB_FIGURE_OOM_KILLS, "out of memory", true },
		{ JOB_FIGURE_LEAKED, "left behind", false },
	};

	begin_figure(f, job, "Processes", JOB_FIGURE_PROCESSES);
	facts_part(f, "%s%s%s", job_figure_words(job, JOB_FIGURE_PROCESSES).at,
	           job_knows(job, JOB_FIGURE_PROCESSES) ? " " : "",
	           job_knows(job, JOB_FIGURE_PROCESSES) ? job_processes_verb(job) : "");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i].id == JOB_FIGURE_FAILED ? job_counts_failed(job)
		    : parts[i].if_any                ? job_count(job, parts[i].id) != 0
		                                     : job_knows(job, parts[i].id))
			facts_comma(f, "%s %s", job_figure_words(job, parts[i].id).at,
			            parts[i].word);
	if (job_late(job))
		facts_comma(f, "%s ended after the command", format_count(job_late(job)).at);
}

#define SYSCALLS_SHOWN 5

static void put_hotspots(struct facts *f, const struct report *r)
{
	for (size_t i = 0; i < MIN(r->n_syscalls, (size_t)SYSCALLS_SHOWN); i++)
		facts_join(f, i ? FACT_COMMA : FACT_GLANCE, "%s %s", r->syscalls.at[i].name,
		           format_percent(r->syscalls.at[i].time_ratio).at);
}

/* Where strace counted, the time is not as exact as the number. */
static void put_syscalls(struct facts *f, const struct report *r)
{
	const struct job *job = &r->job;
	struct words count = job_figure_words(job, JOB_FIGURE_SYSCALLS);
	struct words time = job_figure_words(job, JOB_FIGURE_SYSCALL_TIME);

	if (!r->n_syscalls)
		return;
	begin_figure(f, job, "Syscalls", JOB_FIGURE_SYSCALLS);
	if (job->figures[JOB_FIGURE_SYSCALLS].quality ==
	    job->figures[JOB_FIGURE_SYSCALL_TIME].quality) {
		facts_part(f, "%s in %s", count.at, time.at);
	} else {
		facts_part(f, "%s", count.at);
		begin_figure(f, job, "", JOB_FIGURE_SYSCALL_TIME);
		facts_part(f, "%s in them", time.at);
	}
	put_hotspots(f, r);
}

/* What is shown as allowed beside the figure that it limits is not repeated. */
static bool is_shown_as_allowed(const struct job *job, enum job_limit limit)
{
	const struct allowance *allowed = &job->allowed;

	switch (limit) {
	case JOB_LIMIT_MEM:
		return job->limit[limit] == allowed->memory_bytes;
	case JOB_LIMIT_CPU:
		return job->limit[limit] == allowed->milli_cores && job_knows(job, JOB_FIGURE_CPU);
	case JOB_LIMIT_TIME:
		return job->limit[limit] == allowed->time_ns;
	case JOB_LIMIT_PIDS:
	case JOB_LIMIT_USER_PIDS:
	case JOB_LIMIT_COUNT:
		break;
	}
	return false;
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
		bool is_met = job->limits_hit >> i & 1;

		if (!job->limit[i] || (!is_met && is_shown_as_allowed(job, i)))
			continue;
		if (is_first)
			facts_begin(f, "Limits", "");
		facts_comma(f, "%s%s%s%s", names[i], *names[i] ? " " : "",
		            job_limit_words(job, i).at, is_met ? " (met)" : "");
		is_first = false;
	}
	if (job->limit[JOB_LIMIT_USER_PIDS])
		facts_join(f, FACT_WORD, "%s", JOB_USER_PIDS_WORDS);
}

static void put_recorder(struct facts *f, const struct report *r)
{
	const struct job *job = &r->job;
	struct figure cpu = job->figures[JOB_FIGURE_SELF_CPU];
	uint64_t took = job_took_ns(&r->job, r->now_ns);

	begin_figure(f, job, "Recorder", JOB_FIGURE_SELF_CPU);
	if (figure_is_known(cpu) && took) {
		facts_part(f, "%s CPU", format_duration(cpu.value).at);
		if (took >= SHARE_LEAST_NS)
			facts_comma(f, "%s of a core",
			            format_percent((double)cpu.value / (double)took).at);
	} else {
		facts_part(f, "not known");
	}
	if (job_knows(job, JOB_FIGURE_SELF_RSS))
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
	put_gpus(&f, r);
	put_processes(&f, &r->job);
	put_syscalls(&f, r);
	put_limits(&f, &r->job);
	job_put_next_request(&f, &r->job, &r->next, "Next");
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
	blocked_view(r->blocked.list.at, r->blocked.list.len, to);
	report_curves(r, to);
	report_tables(r, to);
	flight_view(r, to);
}

void report_text(const struct report *r, struct buf *to)
{
	const struct style plain = { .width = REPORT_TEXT_COLUMNS, .unicode = true };

	report_view(r, CANVAS(&plain, to));
}
