/* SPDX-License-Identifier: MIT */
#include "view/report_view.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "view/blocked_view.h"
#include "view/canvas_page.h"
#include "view/label_lines.h"
#include "view/flight_view.h"
#include "view/format.h"
#include "view/job_view.h"
#include "view/report_curves.h"
#include "view/report_tables.h"
#include "view/verdict_view.h"

/* For shorter jobs the share means nothing: the start of the recorder outweighs it. */
#define SHARE_LEAST_NS NS_PER_S

static void begin_figure(struct label_lines *f, const struct job *job, const char *label,
                         enum job_figure id)
{
	label_lines_begin(f, label, job_view_quality(job, job->figures[id].quality).at);
}

static void put_when(struct label_lines *f, const struct report *r)
{
	const struct job *job = &r->job;
	uint64_t took = job_took_ns(&r->job, r->now_ns);

	label_lines_part(f, "%s", format_time(job->started_ns).at);
	if (job->ended_ns)
		label_lines_join(f, LABEL_WORD, "to %s",
		                 took < 12 * 3600 * NS_PER_S ? format_clock(job->ended_ns).at
		                                             : format_time(job->ended_ns).at);
	if (took && job_view_command_ns(job))
		label_lines_join(f, LABEL_WORD, "(%s%s, its command %s)", format_duration(took).at,
		                 job_view_allowed_time_words(job).at,
		                 format_duration(job_view_command_ns(job)).at);
	else if (took)
		label_lines_join(
			f, LABEL_WORD, "(%s%s%s%s)", job->status == JOB_LOST ? "at least " : "",
			format_duration(took).at, job->status == JOB_RUNNING ? " so far" : "",
			job_view_allowed_time_words(job).at);
	if (*r->host)
		label_lines_part(f, "host %s", r->host);
	if (*r->user)
		label_lines_join(f, *r->host ? LABEL_COMMA : LABEL_GLANCE, "user %s", r->user);
}

static void put_tags(struct label_lines *f, const char *tags)
{
	struct scan at = scan_str(tags);
	struct buf key = { 0 }, value = { 0 };
	bool is_first = true;

	while (job_tags_next(&at, &key, &value)) {
		if (is_first)
			label_lines_begin(f, "tags", "");
		label_lines_join(f, LABEL_COMMA, "%s=%s", key.at ? key.at : "",
		                 value.at ? value.at : "");
		is_first = false;
	}
	buf_done(&key);
	buf_done(&value);
}

/* As other commands accept it. */
static void put_parent(struct label_lines *f, const struct report *r)
{
	const struct job *job = &r->job;

	label_lines_begin(f, "part of", "");
	label_lines_join(f, LABEL_WHOLE, "job %s%s%s", r->parent_user, *r->parent_user ? ":" : "",
	                 job->parent);
}

static void put_head(const struct report *r, struct canvas *to)
{
	const struct job *job = &r->job;
	struct label_lines f = { .indent = 2, .label_columns = 10 };

	label_lines_begin_head(&f, job->id, "");
	label_lines_part(&f, "%s", job->type);
	label_lines_part(&f, "%s%s", job->status == JOB_FAILED ? "FAILED: " : "",
	                 job_view_result(job).at);
	put_when(&f, r);
	label_lines_ink(&f, job->status == JOB_FAILED ? INK_BAD : INK_PLAIN);
	if (*job->command) {
		label_lines_begin(&f, "command", "");
		label_lines_part(&f, "%s", job->command);
	}
	if (*job->cwd) {
		label_lines_begin(&f, "in", "");
		label_lines_part(&f, "%s", job->cwd);
	}
	if (*job->parent)
		put_parent(&f, r);
	put_tags(&f, job->tags);
	label_lines_print(&f, to);
	label_lines_done(&f);
}

static void put_cpu_parts(struct label_lines *f, const struct job *job)
{
	if (job_view_cpu_parts(job) == QUALITY_MISSING)
		return;
	label_lines_part(f, "%s user", job_view_figure_words(job, JOB_FIGURE_CPU_USER).at);
	label_lines_comma(f, "%s sys", job_view_figure_words(job, JOB_FIGURE_CPU_SYSTEM).at);
}

static void put_cpu(struct label_lines *f, const struct report *r)
{
	const struct job *job = &r->job;
	enum quality parts = job_view_cpu_parts(job);
	struct words busy = job_view_cores_words(job, r->cpus);

	begin_figure(f, job, "CPU", JOB_FIGURE_CPU);
	label_lines_part(f, "%s", job_view_figure_words(job, JOB_FIGURE_CPU).at);
	if (parts == job->figures[JOB_FIGURE_CPU].quality)
		put_cpu_parts(f, job);
	if (*busy.at)
		label_lines_part(f, "%s", busy.at);
	if (parts != job->figures[JOB_FIGURE_CPU].quality && parts != QUALITY_MISSING) {
		label_lines_begin(f, "", job_view_quality(job, parts).at);
		put_cpu_parts(f, job);
	}
	if (job_view_count(job, JOB_FIGURE_CPU_THROTTLED)) {
		begin_figure(f, job, "", JOB_FIGURE_CPU_THROTTLED);
		label_lines_part(f, "%s held back by its limit",
		                 job_view_figure_words(job, JOB_FIGURE_CPU_THROTTLED).at);
	}
}

static void put_memory(struct label_lines *f, const struct job *job)
{
	begin_figure(f, job, "Memory", JOB_FIGURE_PEAK_USED);
	label_lines_part(f, "%s", job_view_figure_words(job, JOB_FIGURE_PEAK_USED).at);
	label_lines_join(f, LABEL_WORD, "%s",
	                 job_view_knows(job, JOB_FIGURE_PEAK_USED) ? "used" : "how much was used");
	if (job_view_knows(job, JOB_FIGURE_PEAK_AT))
		label_lines_join(f, LABEL_WORD, "at %s",
		                 job_view_figure_words(job, JOB_FIGURE_PEAK_AT).at);
	job_view_put_allowed_memory(f, job);
	if (job_view_knows(job, JOB_FIGURE_PEAK_CHARGED)) {
		begin_figure(f, job, "", JOB_FIGURE_PEAK_CHARGED);
		label_lines_part(f, "%s charged",
		                 job_view_figure_words(job, JOB_FIGURE_PEAK_CHARGED).at);
		label_lines_join(f, LABEL_WORD, "to its control group");
		label_lines_comma(f, "page cache included");
	}
	begin_figure(f, job, "", JOB_FIGURE_PEAK_RSS);
	label_lines_part(f, "%s", job_view_figure_words(job, JOB_FIGURE_PEAK_RSS).at);
	label_lines_join(f, LABEL_WORD, "%s",
	                 job_view_knows(job, JOB_FIGURE_PEAK_RSS) ? "largest process"
	                                                          : "for the largest process");
	if (job->largest_pid)
		label_lines_comma(f, "%s %d", job->largest_name, job->largest_pid);
}

static void put_io(struct label_lines *f, const struct job *job)
{
	struct figure read = job->figures[JOB_FIGURE_READ],
		      written = job->figures[JOB_FIGURE_WRITTEN];

	label_lines_begin(f, "I/O",
	                  job_view_quality(job, quality_join(read.quality, written.quality)).at);
	if (!figure_is_known(read) && !figure_is_known(written)) {
		label_lines_part(f, "not known");
		return;
	}
	label_lines_part(f, "%s read", job_view_figure_words(job, JOB_FIGURE_READ).at);
	label_lines_comma(f, "%s written", job_view_figure_words(job, JOB_FIGURE_WRITTEN).at);
}

static void put_gpu_memory(struct label_lines *f, const struct gpu_record *g)
{
	uint64_t held = (uint64_t)g->mem_peak_bytes;

	if (!isfinite(g->mem_peak_bytes)) {
		label_lines_part(f, "memory not known");
		return;
	}
	label_lines_part(f, "%s held",
	                 isfinite(g->mem_total_bytes)
	                         ? format_bytes_of(held, (uint64_t)g->mem_total_bytes).at
	                         : format_bytes(held).at);
	if (isfinite(g->own_peak_bytes))
		label_lines_comma(f, "%s by this job",
		                  format_bytes((uint64_t)g->own_peak_bytes).at);
}

/* A GPU that did not answer for a while drew at least what it did in the rest of the time. */
static void put_energy(struct label_lines *f, const struct report *r, const struct gpu_record *g)
{
	double seconds = (double)job_took_ns(&r->job, r->now_ns) / 1e9;

	if (isfinite(g->power_mean_w))
		label_lines_part(
			f, "%s%s", g->no_power_s > 0 ? "at least " : "",
			format_energy(g->power_mean_w * fmax(seconds - g->no_power_s, 0) / 3600)
				.at);
}

/* "71 % busy, 99 % peak   14.2 of 24.0 GiB held, 13.9 GiB by this job   212 Wh" */
static void put_gpu(struct label_lines *f, const struct report *r, const struct gpu_record *g)
{
	bool is_known = isfinite(g->util_mean_ratio) || isfinite(g->mem_peak_bytes);
	enum quality quality = !is_known ? QUALITY_MISSING
	                       : job_view_gpu_quality(&r->job) == QUALITY_AT_LEAST
	                               ? QUALITY_AT_LEAST
	                               : QUALITY_SAMPLED;
	char label[24];

	snprintf(label, sizeof label, "GPU %u", g->index);
	label_lines_begin(f, label, job_view_quality(&r->job, quality).at);
	if (isfinite(g->util_mean_ratio)) {
		label_lines_part(f, "%s busy", format_percent(g->util_mean_ratio).at);
		label_lines_comma(f, "%s peak", format_percent(g->util_max_ratio).at);
	} else {
		label_lines_part(f, "load not known");
	}
	put_gpu_memory(f, g);
	put_energy(f, r, g);
}

/* "64 % busy, 97 % peak   8m 07s GPU time" */
static void put_own_load(struct label_lines *f, const struct job *job)
{
	begin_figure(f, job, "  this job", JOB_FIGURE_GPU_TIME);
	if (!job_view_knows(job, JOB_FIGURE_GPU_TIME)) {
		label_lines_part(f, "load not known");
		return;
	}
	label_lines_part(f, "%s busy", job_view_figure_words(job, JOB_FIGURE_GPU_SM).at);
	if (job_view_knows(job, JOB_FIGURE_GPU_SM_MAX))
		label_lines_comma(f, "%s peak",
		                  job_view_figure_words(job, JOB_FIGURE_GPU_SM_MAX).at);
	label_lines_part(f, "%s GPU time", job_view_figure_words(job, JOB_FIGURE_GPU_TIME).at);
	if (job_view_count(job, JOB_FIGURE_GPUS) > 1)
		label_lines_comma(f, "all GPUs added");
}

/* Those of the job; where the driver does not list processes, all. */
static void put_gpus(struct label_lines *f, const struct report *r)
{
	const struct job *job = &r->job;
	bool knows = job_view_knows(job, JOB_FIGURE_GPUS);

	vec_each(&r->gpus, gpu)
		if (!knows || gpu->g.is_used)
			put_gpu(f, r, &gpu->g);
	if (job_view_knows(job, JOB_FIGURE_GPU_TIME) || job_view_knows(job, JOB_FIGURE_GPU_HELD)) {
		put_own_load(f, job);
		job_view_put_gpu_cost(f, job, "");
	} else if (r->gpus.len && !knows && job_view_knows(job, JOB_FIGURE_GPU_UTIL)) {
		label_lines_begin(f, "  this job", job_view_quality(job, QUALITY_MISSING).at);
		label_lines_part(f,
		                 "not known: the driver does not report whose processes these are");
	}
}

static void put_processes(struct label_lines *f, const struct job *job)
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
	label_lines_part(f, "%s%s%s", job_view_figure_words(job, JOB_FIGURE_PROCESSES).at,
	                 job_view_knows(job, JOB_FIGURE_PROCESSES) ? " " : "",
	                 job_view_knows(job, JOB_FIGURE_PROCESSES) ? job_view_processes_verb(job)
	                                                           : "");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i].id == JOB_FIGURE_FAILED ? job_view_counts_failed(job)
		    : parts[i].if_any                ? job_view_count(job, parts[i].id) != 0
		                                     : job_view_knows(job, parts[i].id))
			label_lines_comma(f, "%s %s", job_view_figure_words(job, parts[i].id).at,
			                  parts[i].word);
	if (job_view_late(job))
		label_lines_comma(f, "%s ended after the command",
		                  format_count(job_view_late(job)).at);
}

#define SYSCALLS_SHOWN 5

static void put_hotspots(struct label_lines *f, const struct report *r)
{
	for (size_t i = 0; i < MIN(r->n_syscalls, (size_t)SYSCALLS_SHOWN); i++)
		label_lines_join(f, i ? LABEL_COMMA : LABEL_GLANCE, "%s %s", r->syscalls.at[i].name,
		                 format_percent(r->syscalls.at[i].time_ratio).at);
}

/* Where strace counted, the time is not as exact as the number. */
static void put_syscalls(struct label_lines *f, const struct report *r)
{
	const struct job *job = &r->job;
	struct words count = job_view_figure_words(job, JOB_FIGURE_SYSCALLS);
	struct words time = job_view_figure_words(job, JOB_FIGURE_SYSCALL_TIME);

	if (!r->n_syscalls)
		return;
	begin_figure(f, job, "Syscalls", JOB_FIGURE_SYSCALLS);
	if (job->figures[JOB_FIGURE_SYSCALLS].quality ==
	    job->figures[JOB_FIGURE_SYSCALL_TIME].quality) {
		label_lines_part(f, "%s in %s", count.at, time.at);
	} else {
		label_lines_part(f, "%s", count.at);
		begin_figure(f, job, "", JOB_FIGURE_SYSCALL_TIME);
		label_lines_part(f, "%s in them", time.at);
	}
	put_hotspots(f, r);
}

/* A limit that is shown beside its figure is not repeated. */
static bool is_shown_as_allowed(const struct job *job, enum job_limit limit)
{
	const struct allowance *allowed = &job->allowed;

	switch (limit) {
	case JOB_LIMIT_MEM:
		return job->limit[limit] == allowed->memory_bytes;
	case JOB_LIMIT_CPU:
		return job->limit[limit] == allowed->milli_cores &&
		       job_view_knows(job, JOB_FIGURE_CPU);
	case JOB_LIMIT_TIME:
		return job->limit[limit] == allowed->time_ns;
	case JOB_LIMIT_PIDS:
	case JOB_LIMIT_USER_PIDS:
	case JOB_LIMIT_COUNT:
		break;
	}
	return false;
}

static void put_limits(struct label_lines *f, const struct job *job)
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
			label_lines_begin(f, "Limits", "");
		label_lines_comma(f, "%s%s%s%s", names[i], *names[i] ? " " : "",
		                  job_view_limit_words(job, i).at, is_met ? " (met)" : "");
		is_first = false;
	}
	if (job->limit[JOB_LIMIT_USER_PIDS])
		label_lines_join(f, LABEL_WORD, "%s", JOB_USER_PIDS_WORDS);
}

static void put_recorder(struct label_lines *f, const struct report *r)
{
	const struct job *job = &r->job;
	struct figure cpu = job->figures[JOB_FIGURE_SELF_CPU];
	uint64_t took = job_took_ns(&r->job, r->now_ns);

	begin_figure(f, job, "Recorder", JOB_FIGURE_SELF_CPU);
	if (figure_is_known(cpu) && took) {
		label_lines_part(f, "%s CPU", format_duration(cpu.value).at);
		if (took >= SHARE_LEAST_NS)
			label_lines_comma(f, "%s of a core",
			                  format_percent((double)cpu.value / (double)took).at);
	} else {
		label_lines_part(f, "not known");
	}
	if (job_view_knows(job, JOB_FIGURE_SELF_RSS))
		label_lines_comma(f, "%s", job_view_figure_words(job, JOB_FIGURE_SELF_RSS).at);
	if (*job->tier) {
		label_lines_begin(f, "Watched by", "");
		label_lines_part(f, "%s", job->tier);
	}
}

static void put_totals(const struct report *r, struct canvas *to)
{
	struct label_lines f = { .indent = 2, .label_columns = 13 };

	canvas_title(to, "Totals");
	put_cpu(&f, r);
	put_memory(&f, &r->job);
	put_io(&f, &r->job);
	put_gpus(&f, r);
	put_processes(&f, &r->job);
	put_syscalls(&f, r);
	put_limits(&f, &r->job);
	if (to->is_page) /* it has room for that */
		job_view_put_request(&f, &r->next, "Next time");
	else
		job_view_put_next_request(&f, &r->job, &r->next, "Next");
	put_recorder(&f, r);
	label_lines_print(&f, to);
	label_lines_done(&f);
}

static bool put_no_data(const struct report *r, struct canvas *to)
{
	if (!report_has_data(r))
		canvas_put(to, INK_PLAIN,
		           "\nno data: only the existence of this job was recorded\n");
	return !report_has_data(r);
}

static void put_details(const struct report *r, struct canvas *to)
{
	report_tables(r, to);
	flight_view(r, to);
}

void report_view(const struct report *r, struct canvas *to)
{
	put_head(r, to);
	if (put_no_data(r, to))
		return;
	put_totals(r, to);
	blocked_view(r->blocked.list.at, r->blocked.list.len, to);
	report_curves(r, to);
	put_details(r, to);
}

void report_view_verdict(const struct report *r, const struct verdict *v, struct canvas *to)
{
	const struct verdict_page reasons = { r, v };

	put_head(r, to);
	if (r->job.status == JOB_FAILED || r->job.status == JOB_LOST)
		verdict_view_reasons(&reasons, to);
}

void report_view_totals(const struct report *r, struct canvas *to)
{
	if (put_no_data(r, to))
		return;
	put_totals(r, to);
	blocked_view(r->blocked.list.at, r->blocked.list.len, to);
}

void report_view_details(const struct report *r, struct canvas *to)
{
	if (report_has_data(r))
		put_details(r, to);
}

void report_view_markdown(const struct report *r, const struct verdict *v, struct buf *to)
{
	struct canvas_page page = { .out = to };
	struct canvas *canvas = CANVAS_PAGE(canvas_markdown, &page);

	report_view_verdict(r, v, canvas);
	report_view_totals(r, canvas);
	report_curves(r, canvas);
	report_view_details(r, canvas);
}

void report_view_text(const struct report *r, struct buf *to)
{
	const struct style plain = { .width = REPORT_TEXT_COLUMNS, .unicode = true };

	report_view(r, CANVAS(&plain, to));
}
