/* SPDX-License-Identifier: MIT */
#include "view/run_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/label_lines.h"
#include "view/format.h"
#include "view/job_view.h"

/* How a process ended that we did not start may stay unknown, and it may go on. */
static bool put_watched(struct label_lines *f, const struct job *job)
{
	struct fmt took = format_duration(job->took_ns);

	if (job->status == JOB_LOST)
		label_lines_part(f, "ended after %s, exit status not known", took.at);
	else if (job->status == JOB_COMPLETED && !job->has_exit_code)
		label_lines_part(f, "watched for %s, still running", took.at);
	else
		return false;
	return true;
}

/* A failed run begins with the reason. */
static void put_head(struct label_lines *f, const struct job *job, const char *why, bool is_watched)
{
	char right[JOB_ID_MAX + 8], command[64] = "";
	struct words plain = job_view_result(job);
	const char *result = why ? why : plain.at, *bracket = strstr(result, " (");
	size_t whole = bracket ? (size_t)(bracket - result) : strlen(result);

	snprintf(right, sizeof right, "job %s", job->id);
	if (job_view_command_ns(job))
		snprintf(command, sizeof command, " (command %s)",
		         format_duration(job_view_command_ns(job)).at);
	label_lines_begin_head(f, "proctor", right);
	label_lines_part(f, "%s", job->type);
	if (is_watched && put_watched(f, job))
		return;
	if (job->status == JOB_RUNNING) { /* its folder may be older than its end */
		label_lines_part(f, "no end recorded after %s", format_duration(job->took_ns).at);
		return;
	}
	if (job->status == JOB_COMPLETED) {
		label_lines_part(f, "ok in %s%s%s", format_duration(job->took_ns).at,
		                 job_view_allowed_time_words(job).at, command);
		return;
	}
	label_lines_part(f, "FAILED after %s%s%s:", format_duration(job->took_ns).at,
	                 job_view_allowed_time_words(job).at, command);
	label_lines_join(f, LABEL_WORD, "%.*s", (int)whole, result);
	if (result[whole])
		label_lines_join(f, LABEL_WORD, "%s", result + whole + 1);
	label_lines_ink(f, job_view_ink(job->status));
}

static void put_cpu(struct label_lines *f, const struct job *job, unsigned cpus)
{
	enum quality quality = job->figures[JOB_FIGURE_CPU].quality;
	struct words busy = job_view_cores_words(job, cpus);

	label_lines_begin(f, "cpu", job_view_quality(job, quality).at);
	/* The two may be less certain than their sum: then the sum is shown. */
	if (job_view_cpu_parts(job) == quality && quality != QUALITY_MISSING) {
		label_lines_part(f, "%s user", job_view_figure_words(job, JOB_FIGURE_CPU_USER).at);
		label_lines_comma(f, "%s sys",
		                  job_view_figure_words(job, JOB_FIGURE_CPU_SYSTEM).at);
	} else {
		label_lines_part(f, "%s", job_view_figure_words(job, JOB_FIGURE_CPU).at);
	}
	if (*busy.at)
		label_lines_part(f, "%s", busy.at);
}

static void put_used(struct label_lines *f, const struct job *job)
{
	label_lines_part(f, "%s used", job_view_figure_words(job, JOB_FIGURE_PEAK_USED).at);
	if (job_view_knows(job, JOB_FIGURE_PEAK_AT))
		label_lines_join(f, LABEL_WORD, "at %s",
		                 job_view_figure_words(job, JOB_FIGURE_PEAK_AT).at);
	job_view_put_allowed_memory(f, job);
}

static void put_largest(struct label_lines *f, const struct job *job)
{
	label_lines_part(f, "%s largest process",
	                 job_view_figure_words(job, JOB_FIGURE_PEAK_RSS).at);
	if (*job->largest_name)
		label_lines_comma(f, "%s", job->largest_name);
}

/* What it used, what was charged, and the largest process, each with its own quality. A job too short
 * to be sampled used at most what was charged: that is one line. */
static void put_memory(struct label_lines *f, const struct job *job)
{
	const struct figure *used = &job->figures[JOB_FIGURE_PEAK_USED];
	const char *label = "memory";

	if (figure_is_known(*used)) {
		label_lines_begin(f, label, job_view_quality(job, used->quality).at);
		put_used(f, job);
		label = "";
	}
	if (job_view_knows(job, JOB_FIGURE_PEAK_CHARGED) && used->quality != QUALITY_AT_MOST) {
		label_lines_begin(
			f, label,
			job_view_quality(job, job->figures[JOB_FIGURE_PEAK_CHARGED].quality).at);
		label_lines_part(f, "%s charged",
		                 job_view_figure_words(job, JOB_FIGURE_PEAK_CHARGED).at);
		label = "";
	}
	label_lines_begin(f, label,
	                  job_view_quality(job, job->figures[JOB_FIGURE_PEAK_RSS].quality).at);
	if (job_view_knows(job, JOB_FIGURE_PEAK_RSS))
		put_largest(f, job);
	else
		label_lines_part(f, "not known");
}

/* "14 % (37 % peak) by this job" */
static void put_own_share(struct label_lines *f, const struct job *job)
{
	label_lines_comma(f, "%s", job_view_figure_words(job, JOB_FIGURE_GPU_SM).at);
	if (job_view_knows(job, JOB_FIGURE_GPU_SM_MAX))
		label_lines_join(f, LABEL_WORD, "(%s peak)",
		                 job_view_figure_words(job, JOB_FIGURE_GPU_SM_MAX).at);
	label_lines_join(f, LABEL_WORD, "by this job");
}

/* The load and memory of the GPUs it used, by all that run there, and its own share of them. */
static void put_gpu(struct label_lines *f, const struct job *job)
{
	bool has_memory = job_view_knows(job, JOB_FIGURE_PEAK_GPU_DEVICE),
	     has_own = job_view_knows(job, JOB_FIGURE_PEAK_GPU_MEMORY);
	uint64_t held = job_view_count(job, JOB_FIGURE_PEAK_GPU_DEVICE),
		 whole = job_view_count(job, JOB_FIGURE_GPU_DEVICE);

	if (!has_memory && !job_view_knows(job, JOB_FIGURE_GPU_UTIL) && !has_own &&
	    !job_view_count(job, JOB_FIGURE_GPUS))
		return;
	label_lines_begin(f, job_view_count(job, JOB_FIGURE_GPUS) > 1 ? "gpus" : "gpu",
	                  job_view_quality(job, job_view_gpu_quality(job)).at);
	if (job_view_count(job, JOB_FIGURE_GPUS) > 1)
		label_lines_part(f, "%s used", job_view_figure_words(job, JOB_FIGURE_GPUS).at);
	if (job_view_knows(job, JOB_FIGURE_GPU_UTIL))
		label_lines_part(f, "%s busy", job_view_figure_words(job, JOB_FIGURE_GPU_UTIL).at);
	else
		label_lines_part(f, "load not known");
	if (job_view_knows(job, JOB_FIGURE_GPU_SM))
		put_own_share(f, job);
	if (has_memory)
		label_lines_part(f, "%s held",
		                 whole ? format_bytes_of(held, whole).at : format_bytes(held).at);
	else if (!has_own)
		label_lines_part(f, "memory not known");
	if (has_own)
		label_lines_comma(f, "%s by this job",
		                  job_view_figure_words(job, JOB_FIGURE_PEAK_GPU_MEMORY).at);
	else if (has_memory)
		label_lines_comma(f, "how much by this job is not known");
	job_view_put_gpu_cost(f, job, " by this job");
}

static void put_processes(struct label_lines *f, const struct job *job)
{
	uint64_t leaked = job_view_count(job, JOB_FIGURE_LEAKED);

	label_lines_begin(f, "procs",
	                  job_view_quality(job, job->figures[JOB_FIGURE_PROCESSES].quality).at);
	if (job_view_knows(job, JOB_FIGURE_PROCESSES))
		label_lines_part(f, "%s %s", job_view_figure_words(job, JOB_FIGURE_PROCESSES).at,
		                 job_view_processes_verb(job));
	else
		label_lines_part(f, "not known");
	if (job_view_counts_failed(job))
		label_lines_comma(f, "%s failed", job_view_figure_words(job, JOB_FIGURE_FAILED).at);
	if (job_view_count(job, JOB_FIGURE_SIGNALLED))
		label_lines_comma(f, "%s died of a signal",
		                  job_view_figure_words(job, JOB_FIGURE_SIGNALLED).at);
	if (job_view_count(job, JOB_FIGURE_OOM_KILLS) && job->status != JOB_FAILED)
		label_lines_comma(f, "%s out of memory",
		                  job_view_figure_words(job, JOB_FIGURE_OOM_KILLS).at);
	if (job_view_late(job))
		label_lines_comma(f, "%s ended after the command",
		                  format_count(job_view_late(job)).at);
	if (leaked)
		label_lines_comma(f, "%s left behind", format_count(leaked).at);
	else if (job_view_knows(job, JOB_FIGURE_LEAKED))
		label_lines_comma(f, "none left behind");
}

static bool has_not_run(const struct job *job)
{
	return job_view_knows(job, JOB_FIGURE_PROCESSES) &&
	       !job_view_count(job, JOB_FIGURE_PROCESSES);
}

/* Shown when there was some, or when it is not known; a report shows it always. */
static void put_io(struct label_lines *f, const struct job *job, bool is_watched)
{
	struct figure read = job->figures[JOB_FIGURE_READ],
		      written = job->figures[JOB_FIGURE_WRITTEN];

	bool is_known = figure_is_known(read) && figure_is_known(written);

	if (is_known ? !(read.value | written.value) : has_not_run(job))
		return;
	label_lines_begin(f, "i/o",
	                  job_view_quality(job, quality_join(read.quality, written.quality)).at);
	if (!is_known) {
		label_lines_part(f, is_watched ? "not recorded with --pid"
		                               : "not known: not reported by the kernel");
		return;
	}
	label_lines_part(f, "%s read", format_bytes(read.value).at);
	label_lines_comma(f, "%s written", format_bytes(written.value).at);
}

static void put_sheets(struct label_lines *f, const struct job *job)
{
	if (!job->total_sheets)
		return;
	label_lines_begin(f, "sheets", "");
	label_lines_part(f, "%s of %s completed", format_count(job->completed_sheets).at,
	                 format_count(job->total_sheets).at);
	if (job->failed_sheets)
		label_lines_comma(f, "%s failed", format_count(job->failed_sheets).at);
}

/* Unless the head names it. */
static void put_met(struct label_lines *f, const struct job *job, enum job_limit limit)
{
	static const char *const kinds[JOB_LIMIT_COUNT] = {
		[JOB_LIMIT_MEM] = "memory ", [JOB_LIMIT_TIME] = "time "
	};
	struct words most = job_view_limit_words(job, limit);

	if (job->status == JOB_FAILED && strstr(job_view_result(job).at, most.at))
		return;
	label_lines_begin(f, "limit", "");
	label_lines_part(f, "met its %slimit of %s", kinds[limit] ? kinds[limit] : "", most.at);
	if (limit == JOB_LIMIT_USER_PIDS)
		label_lines_join(f, LABEL_WORD, "%s", JOB_USER_PIDS_WORDS);
}

static void put_limits(struct label_lines *f, const struct job *job)
{
	struct figure throttled = job->figures[JOB_FIGURE_CPU_THROTTLED];

	if (job->limits_hit >> JOB_LIMIT_CPU & 1 ||
	    (figure_is_known(throttled) && throttled.value)) {
		label_lines_begin(f, "limit", "");
		label_lines_part(f, "held back by its limit of %s",
		                 job_view_limit_words(job, JOB_LIMIT_CPU).at);
		if (figure_is_known(throttled))
			label_lines_join(f, LABEL_WORD, "for %s",
			                 format_duration(throttled.value).at);
	}
	for (enum job_limit i = 0; i < JOB_LIMIT_COUNT; i++)
		if (i != JOB_LIMIT_CPU && job->limits_hit >> i & 1)
			put_met(f, job, i);
	if (job->limit[JOB_LIMIT_USER_PIDS] && !(job->limits_hit >> JOB_LIMIT_USER_PIDS & 1)) {
		label_lines_begin(f, "limit", "");
		label_lines_part(f, "%s", job_view_limit_words(job, JOB_LIMIT_USER_PIDS).at);
		label_lines_join(f, LABEL_WORD, "%s", JOB_USER_PIDS_WORDS);
	}
}

static bool is_alike(const struct anomaly *a, const struct anomaly *b)
{
	return a->kind == b->kind && a->severity == b->severity && a->id.pid && b->id.pid &&
	       strncmp(a->comm, b->comm, COMM_LEN) == 0;
}

void run_anomalies_add(struct run_anomalies *notes, const struct anomaly *a)
{
	size_t at = notes->n;

	if (a->news != ANOMALY_ENDED || a->severity < SEVERITY_HIGH)
		return;
	for (size_t i = 0; i < notes->n; i++)
		if (is_alike(&notes->worst[i], a)) {
			notes->alike[i]++;
			return;
		}
	while (at > 0 && (notes->worst[at - 1].severity < a->severity ||
	                  (notes->worst[at - 1].severity == a->severity &&
	                   notes->worst[at - 1].seq > a->seq)))
		at--;
	if (at == RUN_ANOMALIES) {
		notes->more++;
		return;
	}
	if (notes->n == RUN_ANOMALIES)
		notes->more += 1 + notes->alike[RUN_ANOMALIES - 1];
	notes->n = MIN(notes->n + 1, (size_t)RUN_ANOMALIES);
	memmove(&notes->worst[at + 1], &notes->worst[at],
	        (notes->n - 1 - at) * sizeof *notes->worst);
	memmove(&notes->alike[at + 1], &notes->alike[at],
	        (notes->n - 1 - at) * sizeof *notes->alike);
	notes->worst[at] = *a;
	notes->alike[at] = 0;
}

/* "memory spike:", its process, and the figures: a narrow terminal has them in lines of their
 * own. */
static void put_note(struct label_lines *f, const struct anomaly *a, uint64_t alike,
                     const struct canvas *to)
{
	struct buf text = { 0 };
	const char *name = anomaly_kinds[a->kind].name, *rest, *arrow;
	char process[COMM_LEN + 16] = "";

	anomaly_describe(a, &text);
	if (a->id.pid)
		snprintf(process, sizeof process, "%.*s %d ", COMM_LEN, a->comm, a->id.pid);
	rest = text.at + strlen(name) + 2 + strlen(process);
	arrow = to->unicode ? NULL : strstr(rest, "→");
	label_lines_begin(f, "note", anomaly_severity_name(a->severity));
	label_lines_part(f, "%s:", name);
	if (*process)
		label_lines_join(f, LABEL_WORD, "%.*s", (int)strlen(process) - 1, process);
	if (arrow)
		label_lines_join(f, LABEL_WORD, "%.*s->%s", (int)(arrow - rest), rest,
		                 arrow + strlen("→"));
	else
		label_lines_join(f, LABEL_WORD, "%s", rest);
	if (alike)
		label_lines_comma(f, "and %s more like it", format_count(alike).at);
	buf_done(&text);
}

/* Programs grow when they load their data. */
static bool is_ordinary(const struct job *job, const struct anomaly *a)
{
	return a->kind == ANOMALY_MEMORY_SPIKE && !job_is_short_of_memory(job, a->peak);
}

static void put_anomalies(const struct job *job, const struct run_anomalies *notes,
                          const struct canvas *to, struct label_lines *f)
{
	bool any = false;

	for (size_t i = 0; i < notes->n; i++) {
		if (is_ordinary(job, &notes->worst[i]))
			continue;
		put_note(f, &notes->worst[i], notes->alike[i], to);
		any = true;
	}
	if (!notes->more || !any)
		return;
	label_lines_begin(f, "", "");
	label_lines_part(f, "… and %s more", format_count(notes->more).at);
}

static void put_record(struct label_lines *f, const struct job *job,
                       const struct run_record *record)
{
	struct buf line = { 0 };

	if (record->trouble) {
		label_lines_begin(f, "record", "");
		label_lines_part(f, record->is_stored ? "incomplete:" : "not stored:");
		if (record->is_stored && record->events_lost)
			label_lines_join(f, LABEL_WORD, "%s events lost,",
			                 format_count(record->events_lost).at);
		label_lines_join(f, LABEL_WORD, "%s", record->trouble);
		label_lines_ink(f, INK_WARN);
	}
	if (!record->is_stored)
		return;
	if (record->side_path) {
		label_lines_begin(f, "record", "");
		label_lines_part(f, "in '%s' until it can be imported", record->side_path);
		label_lines_ink(f, INK_WARN);
	}
	if (record->side_path && !record->state_dir)
		return;
	buf_printf(&line, "proctor %s %s", job->status == JOB_FAILED ? "why" : "report", job->id);
	if (record->state_dir) {
		buf_puts(&line, " --state-dir ");
		buf_put_shell_word(&line, record->state_dir);
	}
	label_lines_begin(f, "more", "");
	label_lines_join(f, LABEL_WHOLE, "%s", line.at);
	buf_done(&line);
}

void run_view(const struct job *job, const struct run_record *record, unsigned cpus,
              struct canvas *to)
{
	struct label_lines f = { .indent = 2, .label_columns = 8 };

	put_head(&f, job, record->why, record->watched_pid);
	if (record->watched_pid) {
		label_lines_begin(&f, "pid", "");
		label_lines_part(&f, "%d, already running for %s", (int)record->watched_pid,
		                 format_duration(record->watched_age_ns).at);
	}
	put_cpu(&f, job, cpus);
	put_memory(&f, job);
	put_gpu(&f, job);
	put_processes(&f, job);
	put_io(&f, job, record->watched_pid != 0);
	put_sheets(&f, job);
	put_limits(&f, job);
	if (record->next)
		job_view_put_next_request(&f, job, record->next, "next");
	if (record->notes)
		put_anomalies(job, record->notes, to, &f);
	put_record(&f, job, record);
	label_lines_print(&f, to);
	label_lines_done(&f);
}
