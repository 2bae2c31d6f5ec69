/* SPDX-License-Identifier: MIT */
/* history_record.h - recorded facts as history/ returns them: one record at a time, its texts valid only
 * until the function that receives it returns. */
#pragma once

#include "model/anomaly.h"
#include "model/event.h"
#include "model/job.h"
#include "model/snapshot.h"

struct event_record {
	int64_t id;
	enum event_kind kind;
	bool inferred;
	uint64_t wall_ns;
	struct proc_id process; /* pid 0: not about a process */
	bool has_exit_code;
	int exit_code, signal; /* 0: none */
	const char *job_id;    /* NULL: none */
	bool has_job_uid;      /* of jobs before schema version 2 it is not known */
	uint32_t job_uid;      /* the job's user */
	uint32_t sheet;        /* 0: none */
	int64_t count;
	const char *name; /* of a mark, a phase, a limit; NULL: none */
	const char *details;
	const char *comm; /* of the process, as it is called now; NULL: not known */
	bool has_sender;  /* of a signal: it is known */
	pid_t sender_pid; /* 0: the kernel */
	uint32_t sender_uid;
	const char *sender_comm; /* NULL: not known */
};

struct sheet_record {
	struct sheet s;
	struct sheet_use use; /* all of it; s.own is a part */
};

/* One life. Figures are exact when the kernel reported them at its end, sampled when only ticks caught
 * them, else missing. */
struct process_record {
	struct proc_id id;
	pid_t ppid;
	uint32_t uid, sheet; /* sheet 0: none */
	const char *comm, *command;
	uint64_t started_ns, ended_ns; /* wall clock; 0: not known, or it lives */
	bool is_start_exact;           /* reported as it began; else to 10 ms */
	bool has_exit_code;
	int exit_code, signal;
	bool core_dumped;
	struct figure cpu_time_ns, peak_rss_bytes, read_bytes, written_bytes;
	double max_cpu_ratio; /* NAN: not known */
};

/* The whole job at one snapshot. */
struct job_sum_record {
	uint64_t wall_ns;
	struct job_sum sum;
};

/* One process of a job at one snapshot. */
struct process_sample_record {
	uint64_t wall_ns;
	struct proc_id id;
	const char *comm;
	uint32_t sheet;   /* 0: none */
	double cpu_ratio; /* of one core since the snapshot before; NAN: not known */
	struct figure rss, pss, uss, threads, fds; /* bytes; pss, uss as they were read last */
	struct figure read, written;               /* bytes by then, children included */
	struct figure gpu_memory, gpu_sm_pct;      /* on all GPUs together */
};

/* One GPU at one snapshot of a job: all that run there, and the job's own processes among them. */
struct gpu_sample_record {
	uint64_t wall_ns;
	uint32_t index;
	const char *name; /* NULL: not known */
	struct figure r[GPU_METRIC_COUNT];
	struct figure own_memory, own_sm_pct;
};

/* The process of a record, and its time, counted from the start of the job. */
struct export_place {
	const char *job_id;
	struct figure elapsed_ns;
};

/* One GPU of the machine while the job ran: its total use, that of other jobs included. Sampled. */
struct gpu_record {
	uint32_t index;
	const char *name;                       /* NULL: not known */
	double util_mean_ratio, util_max_ratio; /* NAN: not known */
	double mem_peak_bytes, mem_total_bytes; /* NAN: not known */
	double power_mean_w, power_max_w;       /* NAN: not known */
	double no_power_s;     /* for so long it was not known, of the job's time */
	double own_peak_bytes; /* held by the job's processes; NAN: not known */
	bool is_used;          /* a process of the job was seen on it */
};

/* One episode of an anomaly. Values as they are shown outside: see docs/numbers.md. */
struct anomaly_record {
	const char *kind; /* its key */
	enum severity severity;
	struct proc_id process;        /* pid 0: the whole job or machine */
	const char *job_id;            /* NULL: none */
	bool has_job_uid;              /* as in struct event_record */
	uint32_t job_uid;              /* the job's user */
	uint32_t sheet;                /* 0: none */
	uint64_t began_ns, ended_ns;   /* wall clock; ended 0 while it lasts */
	double value, peak, threshold; /* NAN: not known */
	uint32_t runs; /* of its type that it was judged by; 0: by fixed thresholds */
	const char *description;
};

/* One of the last system calls of a process that failed, or still ran when its job did. */
struct last_call_record {
	struct proc_id process;
	const char *comm; /* its name */
	bool has_exit_code;
	int exit_code, signal;
	bool core_dumped;
	uint64_t ended_ns; /* wall clock; 0: not known */
	uint64_t began_ns; /* the call, wall clock */
	double seconds;    /* NAN: it did not return */
	double result;     /* -1: it failed; NAN: it did not return */
	pid_t tid;
	const char *call, *error; /* names; NULL: none */
	const char *text;         /* NULL: those of other processes are kept instead */
};

#define PROFILE_SHEETS_MAX 10000

struct profile_sheet {
	uint32_t num;
	struct figure peak_rss_bytes; /* of its largest process */
	double max_cpu_ratio;         /* of its busiest process, sampled; NAN: not known */
};

/* A summary of a job's usage, from the kernel's totals of its processes and not from adding
 * samples. */
struct job_profile {
	char job_id[JOB_ID_MAX];
	struct figure peak_rss_bytes; /* of its largest process */
	struct figure cpu_time_ns, spawns;
	uint64_t unique_pids;
	struct figure figures[JOB_FIGURE_COUNT]; /* of the job; those on GPUs are shown */
	VEC(struct profile_sheet) sheets;        /* ascending */
	VEC(struct syscall_record) syscalls;     /* most time first */
};
void history_record_profile_done(struct job_profile *p);

/* Their texts are those of the snapshot. */
struct process_sample_record history_record_of_process_sample(const struct snapshot *snap,
                                                              const struct proc_snap *p);
/* `gpu` is its position, `job` that of the job, in the snapshot. */
struct gpu_sample_record history_record_of_gpu_sample(const struct snapshot *snap, uint32_t gpu,
                                                      int32_t job);
/* A live event or anomaly as a record without a row id and a name; `text` holds its words and must
 * outlive it. */
struct event_record history_record_of_event(const struct event *e, const struct snapshot *snap,
                                            struct buf *text);
struct anomaly_record history_record_of_anomaly(const struct anomaly *a,
                                                const struct snapshot *snap, struct buf *text);
