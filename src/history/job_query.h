/* SPDX-License-Identifier: MIT */
/* job_query.h - jobs that were recorded: which there are, and all that is known of one. Every call
 * is bounded, as in history.h. */
#pragma once

#include "model/job.h"
#include "model/job_search.h"
#include "model/history_record.h"
#include "history/history.h"

/* The jobs to list; NULL and 0 mean any. */
struct job_filter {
	const char *type;
	const char *tag_key, *tag_value; /* value NULL: any value */
	const char *outcome; /* "ok", "failed", "running", "lost", "signal", "oom", "limit" */
	const char *parent;  /* started in this job … */
	uint32_t parent_uid; /* … of this user */
	const char *part;            /* of the id or of the type */
	bool outermost;              /* no other job of its user in this store started it */
	uint64_t since_ns, until_ns; /* of the start, wall clock */
	uint64_t ended_since_ns;     /* … of the end: those that run have none */
	bool of_one_user;
	uint32_t uid; /* … this one */
};

/* A job as it was stored. One without an end whose recorder is gone is JOB_LOST. It is valid until the
 * function returns. */
typedef int (*reader_job_fn)(void *self, const struct job *job);

/* Newest first, at most `limit`. How many, or -errno. */
int history_jobs(struct history *r, const struct job_filter *filter, size_t limit, reader_job_fn fn,
                 void *self, struct err *err) must_check;
/* The same jobs by their names only, which takes a fraction of the time. */
typedef int (*reader_offer_fn)(void *self, const struct job_offer *offer);
int history_offer_jobs(struct history *r, const struct job_filter *filter, size_t limit,
                       reader_offer_fn fn, void *self, struct err *err) must_check;
/* By its key, which is never a search. -ENOENT: there is none. */
int history_get_job(struct history *r, struct job_key key, struct job *ret, struct err *err)
	must_check;

#define HISTORY_HOST_MAX 256
/* The recorder of a job; "" where that is not known. */
struct job_recorder {
	char host[HISTORY_HOST_MAX]; /* the name of the machine */
	char boot_id[37];            /* of the machine then */
	char kind[16];               /* "run", "daemon" */
};
int history_job_recorder(struct history *r, struct job_key key, struct job_recorder *ret,
                         struct err *err) must_check;

typedef int (*reader_sheet_fn)(void *self, const struct sheet_record *s);
int history_sheets(struct history *r, struct job_key key, reader_sheet_fn fn, void *self,
                   struct err *err) must_check;

typedef int (*reader_process_fn)(void *self, const struct process_record *p);
/* In the order of their start, at most `limit`. How many, or -errno. */
int history_job_processes(struct history *r, struct job_key key, size_t limit, reader_process_fn fn,
                          void *self, struct err *err) must_check;

/* As history_events(), of one job and its recorder: events of its processes, its marks and
 * phases, and events of the recorder itself (losses, gaps, probes). */
int history_job_events(struct history *r, struct job_key key, struct history_cursor *at,
                       uint64_t kinds, size_t limit, reader_event_fn fn, void *self,
                       struct err *err) must_check;

/* The same events in the order in which they were stored, for readers that follow a job: call it again with
 * the same cursor, which begins as { 0 }. None is missed and none comes twice. */
int history_follow_job(struct history *r, struct job_key key, struct history_cursor *at,
                       uint64_t kinds, size_t limit, reader_event_fn fn, void *self,
                       struct err *err) must_check;

typedef int (*reader_sum_fn)(void *self, const struct job_sum_record *s);
int history_job_sums(struct history *r, struct job_key key, size_t limit, reader_sum_fn fn,
                     void *self, struct err *err) must_check;

/* Observations of a job beside its own figures. */
struct job_context {
	unsigned anomalies; /* bits 1 << ANOMALY_… of the job's own */
	double load; /* average of the machine over a minute when it started; NAN: not known */
	char call[SYSCALL_NAME_MAX]; /* the system call that took the most time; "": not counted */
	double call_ratio;           /* its share of the time in system calls */
};
int history_job_context(struct history *r, struct job_key key, struct job_context *ret,
                        struct err *err) must_check;

typedef int (*reader_anomaly_fn)(void *self, const struct anomaly_record *a);
/* The anomalies of the job and its processes, and those of the machine meanwhile, in the order of
 * their beginning. */
int history_job_anomalies(struct history *r, struct job_key key, size_t limit, reader_anomaly_fn fn,
                          void *self, struct err *err) must_check;

typedef int (*reader_gpu_fn)(void *self, const struct gpu_record *g);
int history_job_gpus(struct history *r, struct job_key key, reader_gpu_fn fn, void *self,
                     struct err *err) must_check;
typedef int (*reader_syscall_fn)(void *self, const struct syscall_record *s);
typedef int (*reader_error_fn)(void *self, const char *call, const char *error, uint64_t count);
/* How its system calls failed, if they were counted. */
int history_job_errors(struct history *r, struct job_key key, reader_error_fn fn, void *self,
                       struct err *err) must_check;
/* The calls of all processes of the job, or of a sheet (0: of the job), most time first. None: they
 * were not counted. */
int history_job_syscalls(struct history *r, struct job_key key, uint32_t sheet,
                         reader_syscall_fn fn, void *self, struct err *err) must_check;
/* … one process of it. */
int history_process_syscalls(struct history *r, struct job_key key, struct proc_id id,
                             reader_syscall_fn fn, void *self, struct err *err) must_check;
typedef int (*reader_last_call_fn)(void *self, const struct last_call_record *c);
/* The last calls of processes, in the order of the processes' ends; the calls of each, in the order
 * in which they were made. */
int history_job_last_calls(struct history *r, struct job_key key, size_t limit,
                           reader_last_call_fn fn, void *self, struct err *err) must_check;
/* When the last recorder of that kind ended, or the one so many before it; when it began, if its end is not known
 * yet; 0: there is none. */
uint64_t history_last_end_ns(struct history *r, const char *kind, unsigned before);
/* Whether a recorder with that pid has its row here, and either has not ended or wrote that job. */
bool history_has_recorder(struct history *r, pid_t pid, const char *boot_id, struct job_key job);
