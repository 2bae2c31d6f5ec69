/* SPDX-License-Identifier: MIT */
#include "view/run_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/facts.h"
#include "view/format.h"
#include "view/job_view.h"

/* How a process ended that we did not start may stay unknown, and it may go on. */
static bool put_watched(struct facts *f, const struct job *job)
{
	struct fmt took = format_duration(job->took_ns);

	if (job->status == JOB_LOST)
		facts_part(f, "ended after %s, exit status not known", took.at);
	else if (job->status == JOB_COMPLETED && !job->has_exit_code)
		facts_part(f, "watched for %s, still running", took.at);
	else
		return false;
	return true;
}

/* A failed run begins with the reason. */
static void put_head(struct facts *f, const struct job *job, const char *why, bool is_watched)
{
	char right[JOB_ID_MAX + 8], command[64] = "";
	struct words plain = job_result(job);
	const char *result = why ? why : plain.at, *bracket = strstr(result, " (");
	size_t whole = bracket ? (size_t)(bracket - result) : strlen(result);

	snprintf(right, sizeof right, "job %s", job->id);
	if (job_command_ns(job))
		snprintf(command, sizeof command, " (command %s)",
		         format_duration(job_command_ns(job)).at);
	facts_begin_head(f, "proctor", right);
	facts_part(f, "%s", job->type);
	if (is_watched && put_watched(f, job))
		return;
	if (job->status == JOB_RUNNING) { /* its folder may be older than its end */
		facts_part(f, "no end recorded after %s", format_duration(job->took_ns).at);
		return;
	}
	if (job->status == JOB_COMPLETED) {
		facts_part(f, "ok in %s%s%s", format_duration(job->took_ns).at,
		           job_allowed_time_words(job).at, command);
		return;
	}
	facts_part(f, "FAILED after %s%s%s:", format_duration(job->took_ns).at,
	           job_allowed_time_words(job).at, command);
	facts_join(f, FACT_WORD, "%.*s", (int)whole, result);
	if (result[whole])
		facts_join(f, FACT_WORD, "%s", result + whole + 1);
	facts_ink(f, job_ink(job->status));
}

static void put_cpu(struct facts *f, const struct job *job, unsigned cpus)
{
	enum quality quality = job->figures[JOB_FIGURE_CPU].quality;
	struct words busy = job_cores_words(job, cpus);

	facts_begin(f, "cpu", job_quality(job, quality).at);
	/* The two may be less certain than their sum: then the sum is shown. */
	if (job_cpu_parts(job) == quality && quality != QUALITY_MISSING) {
		facts_part(f, "%s user", job_figure_words(job, JOB_FIGURE_CPU_USER).at);
		facts_comma(f, "%s sys", job_figure_words(job, JOB_FIGURE_CPU_SYSTEM).at);
	} else {
		facts_part(f, "%s", job_figure_words(job, JOB_FIGURE_CPU).at);
	}
	if (*busy.at)
		facts_part(f, "%s", busy.at);
}

static void put_used(struct facts *f, const struct job *job)
{
	facts_part(f, "%s used", job_figure_words(job, JOB_FIGURE_PEAK_USED).at);
	if (job_knows(job, JOB_FIGURE_PEAK_AT))
		facts_join(f, FACT_WORD, "at %s", job_figure_words(job, JOB_FIGURE_PEAK_AT).at);
	job_put_allowed_memory(f, job);
}

static void put_largest(struct facts *f, const struct job *job)
{
	facts_part(f, "%s largest process", job_figure_words(job, JOB_FIGURE_PEAK_RSS).at);
	if (*job->hungriest)
		facts_comma(f, "%s", job->hungriest);
}

/* What it used, what was charged, and the largest process, each with its own quality. A job too short
 * to be sampled used at most what was charged: that is one line. */
static void put_memory(struct facts *f, const struct job *job)
{
	const struct figure *used = &job->figures[JOB_FIGURE_PEAK_USED];
	const char *label = "memory";

	if (figure_is_known(*used)) {
		facts_begin(f, label, job_quality(job, used->quality).at);
		put_used(f, job);
		label = "";
	}
	if (job_knows(job, JOB_FIGURE_PEAK_CHARGED) && used->quality != QUALITY_AT_MOST) {
		facts_begin(f, label,
		            job_quality(job, job->figures[JOB_FIGURE_PEAK_CHARGED].quality).at);
		facts_part(f, "%s charged", job_figure_words(job, JOB_FIGURE_PEAK_CHARGED).at);
		label = "";
	}
	facts_begin(f, label, job_quality(job, job->figures[JOB_FIGURE_PEAK_RSS].quality).at);
	if (job_knows(job, JOB_FIGURE_PEAK_RSS))
		put_largest(f, job);
	else
		facts_part(f, "not known");
}

/* "14 % (37 % peak) by this job" */
static void put_own_share(struct facts *f, const struct job *job)
{
	facts_comma(f, "%s", job_figure_words(job, JOB_FIGURE_GPU_SM).at);
	if (job_knows(job, JOB_FIGURE_GPU_SM_MAX))
		facts_join(f, FACT_WORD, "(%s peak)",
		           job_figure_words(job, JOB_FIGURE_GPU_SM_MAX).at);
	facts_join(f, FACT_WORD, "by this job");
}

/* The load and memory of the GPUs it used, by all that run there, and its own share of them. */
static void put_gpu(struct facts *f, const struct job *job)
{
	bool has_memory = job_knows(job, JOB_FIGURE_PEAK_GPU_DEVICE),
	     has_own = job_knows(job, JOB_FIGURE_PEAK_GPU_MEMORY);
	uint64_t held = job_count(job, JOB_FIGURE_PEAK_GPU_DEVICE),
		 whole = job_count(job, JOB_FIGURE_GPU_DEVICE);

	if (!has_memory && !job_knows(job, JOB_FIGURE_GPU_UTIL) && !has_own &&
	    !job_count(job, JOB_FIGURE_GPUS))
		return;
	facts_begin(f, job_count(job, JOB_FIGURE_GPUS) > 1 ? "gpus" : "gpu",
	            job_quality(job, job_gpu_quality(job)).at);
	if (job_count(job, JOB_FIGURE_GPUS) > 1)
		facts_part(f, "%s used", job_figure_words(job, JOB_FIGURE_GPUS).at);
	if (job_knows(job, JOB_FIGURE_GPU_UTIL))
		facts_part(f, "%s busy", job_figure_words(job, JOB_FIGURE_GPU_UTIL).at);
	else
		facts_part(f, "load not known");
	if (job_knows(job, JOB_FIGURE_GPU_SM))
		put_own_share(f, job);
	if (has_memory)
		facts_part(f, "%s held",
		           whole ? format_bytes_of(held, whole).at : format_bytes(held).at);
	else if (!has_own)
		facts_part(f, "memory not known");
	if (has_own)
		facts_comma(f, "%s by this job",
		            job_figure_words(job, JOB_FIGURE_PEAK_GPU_MEMORY).at);
	else if (has_memory)
		facts_comma(f, "how much by this job is not known");
	job_put_gpu_cost(f, job, " by this job");
}

static void put_processes(struct facts *f, const struct job *job)
{
	uint64_t leaked = job_count(job, JOB_FIGURE_LEAKED);

	facts_begin(f, "procs", job_quality(job, job->figures[JOB_FIGURE_PROCESSES].quality).at);
	if (job_knows(job, JOB_FIGURE_PROCESSES))
		facts_part(f, "%s %s", job_figure_words(job, JOB_FIGURE_PROCESSES).at,
		           job_processes_verb(job));
	else
		facts_part(f, "not known");
	if (job_counts_failed(job))
		facts_comma(f, "%s failed", job_figure_words(job, JOB_FIGURE_FAILED).at);
	if (job_count(job, JOB_FIGURE_SIGNALLED))
		facts_comma(f, "%s died of a signal",
		            job_figure_words(job, JOB_FIGURE_SIGNALLED).at);
	if (job_count(job, JOB_FIGURE_OOM_KILLS) && job->status != JOB_FAILED)
		facts_comma(f, "%s out of memory", job_figure_words(job, JOB_FIGURE_OOM_KILLS).at);
	if (job_late(job))
		facts_comma(f, "%s ended after the command", format_count(job_late(job)).at);
	if (leaked)
		facts_comma(f, "%s left behind", format_count(leaked).at);
	else if (job_knows(job, JOB_FIGURE_LEAKED))
		facts_comma(f, "none left behind");
}

static bool has_not_run(const struct job *job)
{
	return job_knows(job, JOB_FIGURE_PROCESSES) && !job_count(job, JOB_FIGURE_PROCESSES);
}

/* Shown when there was some, or when it is not known; a report shows it always. */
static void put_io(struct facts *f, const struct job *job, bool is_watched)
{
	struct figure read = job->figures[JOB_FIGURE_READ],
		      written = job->figures[JOB_FIGURE_WRITTEN];

	bool is_known = figure_is_known(read) && figure_is_known(written);

	if (is_known ? !(read.value | written.value) : has_not_run(job))
		return;
	facts_begin(f, "i/o", job_quality(job, quality_join(read.quality, written.quality)).at);
	if (!is_known) {
		facts_part(f, is_watched ? "not recorded with --pid"
		                         : "not known: not reported by the kernel");
		return;
	}
	facts_part(f, "%s read", format_bytes(read.value).at);
	facts_comma(f, "%s written", format_bytes(written.value).at);
}

static void put_sheets(struct facts *f, const struct job *job)
{
	if (!job->total_sheets)
		return;
	facts_begin(f, "sheets", "");
	facts_part(f, "%s of %s completed", format_count(job->completed_sheets).at,
	           format_count(job->total_sheets).at);
	if (job->failed_sheets)
		facts_comma(f, "%s failed", format_count(job->failed_sheets).at);
}

/* Unless the head names it. */
static void put_met(struct facts *f, const struct job *job, enum job_limit limit)
{
	static const char *const kinds[JOB_LIMIT_COUNT] = {
		[JOB_LIMIT_MEM] = "memory ", [JOB_LIMIT_TIME] = "time "
	};
	struct words most = job_limit_words(job, limit);

	if (job->status == JOB_FAILED && strstr(job_result(job).at, most.at))
		return;
	facts_begin(f, "limit", "");
	facts_part(f, "met its %slimit of %s", kinds[limit] ? kinds[limit] : "", most.at);
	if (limit == JOB_LIMIT_USER_PIDS)
		facts_join(f, FACT_WORD, "%s", JOB_USER_PIDS_WORDS);
}

static void put_limits(struct facts *f, const struct job *job)
{
	struct figure throttled = job->figures[JOB_FIGURE_CPU_THROTTLED];

	if (job->limits_hit >> JOB_LIMIT_CPU & 1 ||
	    (figure_is_known(throttled) && throttled.value)) {
		facts_begin(f, "limit", "");
		facts_part(f, "held back by its limit of %s",
		           job_limit_words(job, JOB_LIMIT_CPU).at);
		if (figure_is_known(throttled))
			facts_join(f, FACT_WORD, "for %s", format_duration(throttled.value).at);
	}
	for (enum job_limit i = 0; i < JOB_LIMIT_COUNT; i++)
		if (i != JOB_LIMIT_CPU && job->limits_hit >> i & 1)
			put_met(f, job, i);
	if (job->limit[JOB_LIMIT_USER_PIDS] && !(job->limits_hit >> JOB_LIMIT_USER_PIDS & 1)) {
		facts_begin(f, "limit", "");
		facts_part(f, "%s", job_limit_words(job, JOB_LIMIT_USER_PIDS).at);
		facts_join(f, FACT_WORD, "%s", JOB_USER_PIDS_WORDS);
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
static void put_note(struct facts *f, const struct anomaly *a, uint64_t alike,
                     const struct canvas *to)
{
	struct buf text = { 0 };
	const char *name = anomaly_kinds[a->kind].name, *rest, *arrow;
	char who[COMM_LEN + 16] = "";

	anomaly_describe(a, &text);
	if (a->id.pid)
		snprintf(who, sizeof who, "%.*s %d ", COMM_LEN, a->comm, a->id.pid);
	rest = text.at + strlen(name) + 2 + strlen(who);
	arrow = to->unicode ? NULL : strstr(rest, "→");
	facts_begin(f, "note", severity_name(a->severity));
	facts_part(f, "%s:", name);
	if (*who)
		facts_join(f, FACT_WORD, "%.*s", (int)strlen(who) - 1, who);
	if (arrow)
		facts_join(f, FACT_WORD, "%.*s->%s", (int)(arrow - rest), rest,
		           arrow + strlen("→"));
	else
		facts_join(f, FACT_WORD, "%s", rest);
	if (alike)
		facts_comma(f, "and %s more like it", format_count(alike).at);
	buf_done(&text);
}

/* Programs grow when they load their data. */
static bool is_ordinary(const struct job *job, const struct anomaly *a)
{
	return a->kind == ANOMALY_MEMORY_SPIKE && !job_is_short_of_memory(job, a->peak);
}

static void put_anomalies(const struct job *job, const struct run_anomalies *notes,
                          const struct canvas *to, struct facts *f)
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
	facts_begin(f, "", "");
	facts_part(f, "… and %s more", format_count(notes->more).at);
}

/* As a shell reads it back as one word. */
static void put_shell_word(struct buf *to, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789%+,-./:=@_";

	if (*word && !word[strspn(word, plain)]) {
		buf_puts(to, word);
		return;
	}
	buf_putc(to, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_puts(to, "'\\''");
		else
			buf_putc(to, *word);
	buf_putc(to, '\'');
}

static void put_record(struct facts *f, const struct job *job, const struct run_record *record)
{
	struct buf line = { 0 };

	if (record->trouble) {
		facts_begin(f, "record", "");
		facts_part(f, record->is_stored ? "incomplete:" : "not stored:");
		if (record->is_stored && record->events_lost)
			facts_join(f, FACT_WORD, "%s events lost,",
			           format_count(record->events_lost).at);
		facts_join(f, FACT_WORD, "%s", record->trouble);
		facts_ink(f, INK_WARN);
	}
	if (!record->is_stored)
		return;
	if (record->side_path) {
		facts_begin(f, "record", "");
		facts_part(f, "in '%s' until it can be imported", record->side_path);
		facts_ink(f, INK_WARN);
	}
	if (record->side_path && !record->state_dir)
		return;
	buf_printf(&line, "proctor %s %s", job->status == JOB_FAILED ? "why" : "report", job->id);
	if (record->state_dir) {
		buf_puts(&line, " --state-dir ");
		put_shell_word(&line, record->state_dir);
	}
	facts_begin(f, "more", "");
	facts_join(f, FACT_WHOLE, "%s", line.at);
	buf_done(&line);
}

void run_view(const struct job *job, const struct run_record *record, unsigned cpus,
              struct canvas *to)
{
	struct facts f = { .indent = 2, .label_columns = 8 };

	put_head(&f, job, record->why, record->watched_pid);
	if (record->watched_pid) {
		facts_begin(&f, "pid", "");
		facts_part(&f, "%d, already running for %s", (int)record->watched_pid,
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
		job_put_next_request(&f, job, record->next, "next");
	if (record->notes)
		put_anomalies(job, record->notes, to, &f);
	put_record(&f, job, record);
	facts_print(&f, to);
	facts_done(&f);
}
