/* SPDX-License-Identifier: MIT */
/* job_view.h - what became of a job, in a few words, and how far its figures can be trusted. */
#pragma once

#include "model/job.h"
#include "report/next_request.h"
#include "view/label_lines.h"
#include "view/table.h"

struct words {
	char at[128];
};

static inline bool job_view_knows(const struct job *job, enum job_figure id)
{
	return figure_is_known(job->figures[id]);
}

/* 0: none, or not known. */
static inline uint64_t job_view_count(const struct job *job, enum job_figure id)
{
	return job_view_knows(job, id) ? job->figures[id].value : 0;
}

/* Whether the number of its processes that failed is worth a word: none is, unless the job failed. */
static inline bool job_view_counts_failed(const struct job *job)
{
	return job_view_knows(job, JOB_FIGURE_FAILED) &&
	       (job_view_count(job, JOB_FIGURE_FAILED) || job->status != JOB_FAILED);
}

/* "ok", "exit 3", "SIGSEGV, core dumped", "SIGTERM from timeout (pid 16703)", "SIGINT (Ctrl-C)", "out
 * of memory (own limit 8.0 GiB)", "probably out of memory (limit 500 MiB of /slurm/job_77)", "time
 * limit of 1m 30s", "running", "end not recorded" */
struct words job_view_result(const struct job *job);
struct words job_view_sheet_result(const struct sheet *sheet);
/* "exit 3", "SIGSEGV, core dumped"; "": neither a code nor a signal is known. */
struct words job_view_exit_words(bool has_exit_code, int exit_code, int signal, bool core_dumped);
enum ink job_view_ink(enum job_status status);

/* "exact", "at least", "sampled 1 s", "missing" */
struct words job_view_quality(const struct job *job, enum quality quality);
/* "~1.2 GiB" when it was sampled, "≥1.2 GiB" when it is a lower bound, "-" when it is missing. */
struct words job_view_figure(struct figure figure, enum metric_unit unit, bool unicode);
/* The same as a cell. */
void job_view_add_figure(struct table *t, struct figure figure, enum metric_unit unit,
                         bool unicode);
/* As people read it, with its unit; "not known" when it is missing. */
struct words job_view_figure_words(const struct job *job, enum job_figure id);
/* A note on a limit of tasks that no control group enforces. */
#define JOB_USER_PIDS_WORDS "(held by RLIMIT_NPROC: tasks outside this job count too)"
/* "8.0 GiB", "2.0 cores", "100 tasks", "1m 30s", "100 tasks of the whole user" */
struct words job_view_limit_words(const struct job *job, enum job_limit limit);
/* Cores busy on average, of those it may use, which are `cpus` where that was not recorded (0: not known):
 * "3.4 of 8 cores busy", "0.9 of 1.5 cores busy", "0.03 cores busy"; "": not known, or what was left
 * behind is in it. */
struct words job_view_cores_words(const struct job *job, unsigned cpus);
/* The most memory that it used, by the limit in force, in UNIT_PCT. Missing: nothing less than the machine's
 * memory is the limit, or ulimit is, which is for each process. */
struct figure job_view_share_of_limit(const struct job *job);
/* Adds ", 30 % of 1.0 GiB allowed (own limit)" to the line of what was used; nothing if nothing less than
 * the machine's memory was the limit. */
void job_view_put_allowed_memory(struct label_lines *f, const struct job *job);
/* The same by itself: "of 1.0 GiB (own limit)", "of 24 GiB (machine)", "1.0 GiB allowed to each process"; "": not known. */
struct words job_view_allowed_memory_words(const struct job *job);
/* A line with this label: how much memory to request next time, if the job ran out of it, or was allowed far more than
 * it used and the figure can be trusted that far. */
void job_view_put_next_request(struct label_lines *f, const struct job *job,
                               const struct next_request *next, const char *label);
/* The same whenever it is known how much that is. */
void job_view_put_request(struct label_lines *f, const struct next_request *next,
                          const char *label);
/* Whether there may be such a line, before it is known how much to request. */
bool job_view_shows_next_request(const struct job *job);
/* " of 1h 00m allowed", to follow how long it took; "": not limited, or the limit ended it. */
struct words job_view_allowed_time_words(const struct job *job);
/* How long its command took, when the job took longer; else 0. */
uint64_t job_view_command_ns(const struct job *job);
/* The outcome of its processes, as far as known: of a job with a process that others started, some
 * may be older. */
const char *job_view_processes_verb(const struct job *job);
/* Processes that its command left, and that ended before the job did. */
uint64_t job_view_late(const struct job *job);
/* The quality of the line about the load and memory of its GPUs: a bound takes precedence over
 * samples. */
enum quality job_view_gpu_quality(const struct job *job);
/* Lines about the energy that GPUs drew for it ("41.0 Wh", then `whose`), and about the time in which it
 * held their memory and did not run, unless that is next to none. */
void job_view_put_gpu_cost(struct label_lines *f, const struct job *job, const char *whose);
/* How far user and system time can be trusted: the lesser of the two; missing when they cover a
 * part of the job only. */
enum quality job_view_cpu_parts(const struct job *job);
