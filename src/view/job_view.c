/* SPDX-License-Identifier: MIT */
#include "view/job_view.h"

#include <math.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/signal_name.h"
#include "base/clock.h"
#include "view/format.h"

#define OUR_GROUP "proctor-" /* a group with this name and a job's id is that job's */

static struct words words(const char *fmt, ...) printf_like(1, 2);
static struct words words(const char *fmt, ...)
{
	struct words w;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w.at, sizeof w.at, fmt, ap);
	va_end(ap);
	return w;
}

static bool has_hit(const struct job *job, enum job_limit limit)
{
	return job->limits_hit >> limit & 1;
}

struct words job_view_exit_words(bool has_exit_code, int exit_code, int signal, bool core_dumped)
{
	if (signal)
		return words("%s%s", signal_name(signal).at, core_dumped ? ", core dumped" : "");
	if (has_exit_code)
		return words("exit %d", exit_code);
	return words("%s", "");
}

struct words job_view_limit_words(const struct job *job, enum job_limit limit)
{
	uint64_t value = job->limit[limit];

	switch (limit) {
	case JOB_LIMIT_MEM:
		return words("%s", format_bytes(value).at);
	case JOB_LIMIT_CPU:
		return words("%s core%s", format_milli(value, value % 100 ? 2 : 1).at,
		             value == 1000 ? "" : "s");
	case JOB_LIMIT_PIDS:
		return words("%s task%s", format_count(value).at, value == 1 ? "" : "s");
	case JOB_LIMIT_USER_PIDS:
		return words("%s task%s of the whole user", format_count(value).at,
		             value == 1 ? "" : "s");
	case JOB_LIMIT_TIME:
		return words("%s", format_duration(value).at);
	case JOB_LIMIT_COUNT:
		break;
	}
	return words("%s", "");
}

/* Its command never ran: the status is the launcher's word for why. */
static const char *unstarted_result(const struct job *job)
{
	if (!job->has_exit_code || !job_view_knows(job, JOB_FIGURE_PROCESSES) ||
	    job_view_count(job, JOB_FIGURE_PROCESSES))
		return NULL;
	return job->exit_code == 127   ? "command not found"
	       : job->exit_code == 126 ? "cannot be run"
	                               : NULL;
}

/* "/slurm/job_77", "job make-1", "the container": whose limit it is. */
static struct words group_words(const char *group)
{
	const char *shown = cause_shorten_group(group), *ours = strrchr(group, '/');

	if (ours && strncmp(ours + 1, OUR_GROUP, strlen(OUR_GROUP)) == 0)
		return words("job %.48s", ours + 1 + strlen(OUR_GROUP));
	if (strcmp(group, "/") == 0) /* the machine's has no limit */
		return words("the container");
	return words("%s%s", shown == group ? "" : "…", shown);
}

static struct words oom_result(const struct job *job)
{
	const struct cause *cause = &job->cause;
	const char *hedge = cause->oom == CAUSE_PROOF_LIKELY ? "probably " : "";

	if (has_hit(job, JOB_LIMIT_MEM) && job->limit[JOB_LIMIT_MEM])
		return words("%sout of memory (own limit %s)", hedge,
		             job_view_limit_words(job, JOB_LIMIT_MEM).at);
	if (cause->oom && cause->oom_limit_bytes && *cause->oom_group)
		return words("%sout of memory (limit %s of %.56s)", hedge,
		             format_bytes(cause->oom_limit_bytes).at,
		             group_words(cause->oom_group).at);
	if (job->parent_limits_hit >> JOB_LIMIT_MEM & 1)
		return words("%sout of memory (limit of its parent job)", hedge);
	return words("%sout of memory", hedge);
}

/* " from timeout (pid 16703)", " (Ctrl-C)"; "": the signal explains enough, or no more is known. */
static struct words sender_words(const struct job *job)
{
	const struct cause *cause = &job->cause;

	switch (cause->sender) {
	case CAUSE_SENDER_PROCESS:
		return words(" from %s (pid %d)",
		             *cause->sender_comm ? cause->sender_comm : "a process",
		             cause->sender_pid);
	case CAUSE_SENDER_ITSELF: /* abort() and broken pipes are no news */
		return words("%s", job->signal == SIGKILL || job->signal == SIGTERM ? " from itself"
		                                                                    : "");
	case CAUSE_SENDER_TERMINAL:
		return words("%s", job->signal == SIGINT ? " (Ctrl-C)" : " (Ctrl-\\)");
	case CAUSE_SENDER_KERNEL: /* faults are always the kernel's */
		return words("%s", job->signal == SIGKILL || job->signal == SIGHUP
		                           ? " from the kernel"
		                           : "");
	case CAUSE_SENDER_NONE:
	case CAUSE_SENDER_COUNT:
		break;
	}
	return words("%s", "");
}

static struct words end_words(const struct job *job)
{
	if (!job->signal)
		return job_view_exit_words(job->has_exit_code, job->exit_code, 0, false);
	return words("%s%.50s%s", signal_name(job->signal).at, sender_words(job).at,
	             job->core_dumped ? ", core dumped" : "");
}

static struct words failed_result(const struct job *job)
{
	static const enum job_limit task_limits[] = { JOB_LIMIT_PIDS, JOB_LIMIT_USER_PIDS };
	struct words how = end_words(job);

	if (unstarted_result(job))
		return words("%s", unstarted_result(job));
	if (has_hit(job, JOB_LIMIT_TIME))
		return words("time limit of %s", job_view_limit_words(job, JOB_LIMIT_TIME).at);
	if (job_is_oom(job))
		return oom_result(job);
	for (size_t i = 0; i < ARRAY_LEN(task_limits); i++)
		if (has_hit(job, task_limits[i]))
			return words("%.40s%smet its limit of %.50s", how.at, *how.at ? ", " : "",
			             job_view_limit_words(job, task_limits[i]).at);
	return *how.at ? how : words("failed");
}

/* Its recorder was killed, maybe with the whole job around it. */
static struct words lost_result(const struct job *job)
{
	if (job->parent_limits_hit >> JOB_LIMIT_TIME & 1)
		return words("killed with its parent job (time limit)");
	if (job->parent_limits_hit >> JOB_LIMIT_MEM & 1)
		return words("killed with its parent job (memory limit)");
	return words("end not recorded");
}

struct words job_view_result(const struct job *job)
{
	if (job->status == JOB_LOST)
		return lost_result(job);
	if (job->status == JOB_FAILED)
		return failed_result(job);
	return words(job->status == JOB_RUNNING ? "running" : "ok");
}

struct words job_view_sheet_result(const struct sheet *sheet)
{
	const struct job like = { .status = sheet->status,
		                  .has_exit_code = sheet->has_exit_code,
		                  .exit_code = sheet->exit_code,
		                  .signal = sheet->signal };

	return sheet->status == JOB_LOST ? words("not closed") : job_view_result(&like);
}

enum ink job_view_ink(enum job_status status)
{
	static const enum ink inks[JOB_STATUS_COUNT] = {
		[JOB_COMPLETED] = INK_GOOD, [JOB_FAILED] = INK_BAD, [JOB_LOST] = INK_WARN
	};

	return inks[status];
}

struct words job_view_quality(const struct job *job, enum quality quality)
{
	if (quality == QUALITY_SAMPLED && job->interval_ns)
		return words(job->interval_ns < NS_PER_S ? "sampled %.2g s" : "sampled %.0f s",
		             (double)job->interval_ns / 1e9); /* no more digits than matter */
	return words("%s", quality_name(quality));
}

static struct words value_words(enum metric_unit unit, uint64_t value)
{
	switch (unit) {
	case UNIT_BYTES:
	case UNIT_MIB:
		return words("%s", format_bytes(value).at);
	case UNIT_NS:
		return words("%s", format_duration(value).at);
	case UNIT_MILLI:
		return words("%s", format_milli(value, 2).at);
	case UNIT_PCT:
		return words("%s", format_percent((double)value / 1000).at);
	case UNIT_WH:
		return words("%s", format_energy((double)value / MJ_PER_WH).at);
	case UNIT_COUNT:
		break;
	}
	return words("%s", format_count(value).at);
}

struct words job_view_figure_words(const struct job *job, enum job_figure id)
{
	if (!job_view_knows(job, id))
		return words("not known");
	return value_words(job_figures[id].unit, job->figures[id].value);
}

struct words job_view_figure(struct figure figure, enum metric_unit unit, bool unicode)
{
	static const char *const signs[][2] = { [QUALITY_SAMPLED] = { "~", "~" },
		                                [QUALITY_AT_LEAST] = { ">=", "≥" },
		                                [QUALITY_EXACT] = { "", "" },
		                                [QUALITY_AT_MOST] = { "<=", "≤" } };

	if (!figure_is_known(figure))
		return words("-");
	return words("%s%.40s", signs[figure.quality][unicode], value_words(unit, figure.value).at);
}

void job_view_add_figure(struct table *t, struct figure figure, enum metric_unit unit, bool unicode)
{
	table_add_figure(t, job_view_figure(figure, unit, unicode).at, INK_PLAIN);
}

/* "1.5", "8" */
static struct words cores_words(uint64_t milli)
{
	return words("%s", format_milli(milli, milli % 1000 == 0  ? 0
	                                       : milli % 100 == 0 ? 1
	                                                          : 2)
	                           .at);
}

/* Counters and clock show more than is possible for short jobs, and slightly more for others. */
static double possible_cores(const struct job *job, double cores, double most)
{
	return job->took_ns < NS_PER_S || cores < 1.1 * most ? fmin(cores, most) : cores;
}

struct words job_view_cores_words(const struct job *job, unsigned cpus)
{
	uint64_t most = job->allowed.milli_cores ? job->allowed.milli_cores : cpus * UINT64_C(1000);
	double cores = job->took_ns
	                       ? (double)job_view_count(job, JOB_FIGURE_CPU) / (double)job->took_ns
	                       : NAN;
	/* Leftover processes run on for about 50 ms while figures are computed, which matters for
	 * a short job. */
	bool is_blurred = job_view_count(job, JOB_FIGURE_LEAKED) && job->took_ns < NS_PER_S;
	struct words busy;

	if (!job_view_knows(job, JOB_FIGURE_CPU) || !isfinite(cores) || is_blurred)
		return words("%s", "");
	if (job->allowed.cpus || cpus)
		cores = possible_cores(job, cores,
		                       job->allowed.cpus ? (double)job->allowed.cpus : cpus);
	busy = cores < 0.005   ? words("less than 0.01")
	       : cores < 0.095 ? words("%.2f", cores)
	                       : words("%.1f", cores);
	if (!most)
		return words("%.20s cores busy", busy.at);
	return words("%.20s of %.20s core%s busy", busy.at, cores_words(most).at,
	             most == 1000 ? "" : "s");
}

static bool is_each_process(const struct allowance *a)
{
	return strcmp(a->memory_source, ALLOWANCE_ULIMIT) == 0;
}

static bool is_limited(const struct allowance *a)
{
	return a->memory_bytes && strcmp(a->memory_source, ALLOWANCE_MACHINE) != 0;
}

struct figure job_view_share_of_limit(const struct job *job)
{
	struct figure used = job->figures[JOB_FIGURE_PEAK_USED];
	double share = (double)used.value * 1000 / (double)job->allowed.memory_bytes;

	if (!is_limited(&job->allowed) || is_each_process(&job->allowed) || !figure_is_known(used))
		return (struct figure){ 0 };
	return (struct figure){ (uint64_t)fmax(share, 1), used.quality }; /* not nothing */
}

static struct words limit_source(const struct allowance *a)
{
	if (strcmp(a->memory_source, ALLOWANCE_OWN) == 0)
		return words("own limit");
	if (is_each_process(a))
		return words("ulimit -v");
	return words("limit of %.60s", group_words(a->memory_source).at);
}

void job_view_put_allowed_memory(struct label_lines *f, const struct job *job)
{
	struct fmt most = format_bytes(job->allowed.memory_bytes);
	struct figure share = job_view_share_of_limit(job);

	if (!is_limited(&job->allowed))
		return;
	if (figure_is_known(share))
		label_lines_comma(f, "%s of %s allowed", value_words(UNIT_PCT, share.value).at,
		                  most.at);
	else
		label_lines_comma(f, "%s allowed%s", most.at,
		                  is_each_process(&job->allowed) ? " to each process" : "");
	label_lines_join(f, LABEL_WORD, "(%s)", limit_source(&job->allowed).at);
}

struct words job_view_allowed_memory_words(const struct job *job)
{
	struct fmt most = format_bytes(job->allowed.memory_bytes);

	if (!job->allowed.memory_bytes)
		return words("%s", "");
	if (is_each_process(&job->allowed))
		return words("%s allowed to each process", most.at);
	return words("of %s (%.80s)", most.at,
	             is_limited(&job->allowed) ? limit_source(&job->allowed).at
	                                       : ALLOWANCE_MACHINE);
}

#define NEXT_LEAST_SAVED (UINT64_C(256) << 20)
#define NEXT_SAMPLED_NS (10 * NS_PER_S) /* samples of a shorter job may have missed its peak */

/* Whether a limit was set for the job that a smaller one could replace. */
static bool has_own_allowance(const struct allowance *a)
{
	return is_limited(a) && !is_each_process(a) && strcmp(a->memory_source, "/") != 0;
}

/* Whether the job succeeded, took long enough for its figures to be known, and was allowed much
 * more, or everything. */
static bool is_worth_showing(const struct job *job, uint64_t next)
{
	struct figure used = job->figures[JOB_FIGURE_PEAK_USED];
	uint64_t most = job->allowed.memory_bytes;

	if (used.quality == QUALITY_SAMPLED && job->took_ns < NEXT_SAMPLED_NS)
		return false;
	if (used.quality == QUALITY_AT_LEAST || !figure_is_known(used))
		return false;
	if (!has_own_allowance(&job->allowed))
		return !is_limited(&job->allowed) && job->took_ns >= NEXT_SAMPLED_NS;
	return next <= most / 2 && most - next >= NEXT_LEAST_SAVED;
}

bool job_view_shows_next_request(const struct job *job)
{
	return job_shows_need(job) && (job_is_oom(job) || is_worth_showing(job, 0));
}

void job_view_put_next_request(struct label_lines *f, const struct job *job,
                               const struct next_request *next, const char *label)
{
	struct figure used = job->figures[JOB_FIGURE_PEAK_USED];

	if (!next->memory_bytes || !job_shows_need(job) ||
	    !(job_is_oom(job) || is_worth_showing(job, next->memory_bytes)))
		return;
	label_lines_begin(f, label, "");
	label_lines_part(f, "--mem %s", format_memory_option(next->memory_bytes).at);
	if (!job_is_oom(job) && job->allowed.memory_bytes)
		label_lines_comma(f, "used %s",
		                  format_bytes_of(used.value, job->allowed.memory_bytes).at);
	if (next->runs > 1)
		label_lines_comma(f, "largest of %s runs %s", format_count(next->runs).at,
		                  format_bytes(next->largest_bytes).at);
}

void job_view_put_request(struct label_lines *f, const struct next_request *next, const char *label)
{
	if (!next->memory_bytes)
		return;
	label_lines_begin(f, label, "");
	label_lines_part(f, "request --mem %s", format_memory_option(next->memory_bytes).at);
	if (next->largest_bytes)
		label_lines_comma(f, "the largest of %s run%s used %s", format_count(next->runs).at,
		                  next->runs == 1 ? "" : "s", format_bytes(next->largest_bytes).at);
}

struct words job_view_allowed_time_words(const struct job *job)
{
	if (!job->allowed.time_ns || has_hit(job, JOB_LIMIT_TIME))
		return words("%s", "");
	return words(" of %s allowed", format_duration(job->allowed.time_ns).at);
}

uint64_t job_view_command_ns(const struct job *job)
{
	uint64_t command = job_view_count(job, JOB_FIGURE_COMMAND_TOOK);

	return command < job->took_ns ? command : 0;
}

const char *job_view_processes_verb(const struct job *job)
{
	return job->root.pid ? "watched" : "started";
}

uint64_t job_view_late(const struct job *job)
{
	uint64_t outlived = job_view_count(job, JOB_FIGURE_OUTLIVED);

	if (!job_view_knows(job, JOB_FIGURE_LEAKED))
		return 0;
	return outlived - MIN(outlived, job_view_count(job, JOB_FIGURE_LEAKED));
}

enum quality job_view_gpu_quality(const struct job *job)
{
	static const enum job_figure shown[] = { JOB_FIGURE_GPU_UTIL, JOB_FIGURE_PEAK_GPU_DEVICE,
		                                 JOB_FIGURE_PEAK_GPU_MEMORY };
	enum quality ret = QUALITY_MISSING;

	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		enum quality one = job->figures[shown[i]].quality;

		if (one != QUALITY_MISSING && ret != QUALITY_AT_LEAST)
			ret = one;
	}
	return ret;
}

#define IDLE_SHOWN_PART 20

static void put_gpu_idle(struct label_lines *f, const struct job *job)
{
	label_lines_part(f, "idle %s", job_view_figure_words(job, JOB_FIGURE_GPU_IDLE_HELD).at);
	label_lines_join(f, LABEL_WORD, "of %s held",
	                 job_view_figure_words(job, JOB_FIGURE_GPU_HELD).at);
}

void job_view_put_gpu_cost(struct label_lines *f, const struct job *job, const char *whose)
{
	struct figure energy = job->figures[JOB_FIGURE_GPU_ENERGY],
		      idle = job->figures[JOB_FIGURE_GPU_IDLE_HELD];
	bool was_idle = figure_is_known(idle) && idle.value &&
	                idle.value >= job_view_count(job, JOB_FIGURE_GPU_HELD) / IDLE_SHOWN_PART;

	if (figure_is_known(energy)) {
		label_lines_begin(f, "", job_view_quality(job, energy.quality).at);
		label_lines_part(f, "%s%s", job_view_figure_words(job, JOB_FIGURE_GPU_ENERGY).at,
		                 whose);
	}
	if (was_idle && energy.quality != idle.quality)
		label_lines_begin(f, "", job_view_quality(job, idle.quality).at);
	if (was_idle)
		put_gpu_idle(f, job);
}

enum quality job_view_cpu_parts(const struct job *job)
{
	struct figure user = job->figures[JOB_FIGURE_CPU_USER],
		      kernel = job->figures[JOB_FIGURE_CPU_SYSTEM];
	uint64_t all = job->figures[JOB_FIGURE_CPU].value;

	if (user.value + kernel.value + all / 50 < all)
		return QUALITY_MISSING;
	return quality_join(user.quality, kernel.quality);
}
