/* SPDX-License-Identifier: MIT */
/* frame.h - what `proctor top` shows of one instant, whether it is now (answers of a daemon) or past (the store). Plain
 * data: figures are NAN where they are not known, texts lie in `text`. */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "model/anomaly.h"
#include "model/job.h"

enum frame_source {
	FRAME_NONE,   /* nothing has come yet */
	FRAME_DAEMON, /* a daemon samples */
	FRAME_OWN,    /* no daemon answers: a process of ours samples */
	FRAME_PAST,   /* the store */
};

/* A part of frame->text, ended by a NUL. 0: "". */
typedef uint32_t frame_text;

#define FRAME_GPUS_MAX 16
#define FRAME_PROCS_MAX 4194304
#define FRAME_EVENTS_MAX 1024
#define FRAME_ANY_UID UINT32_MAX /* not known: an older server does not name the users of jobs */

struct frame_gpu {
	uint32_t index;
	double util_ratio, used_bytes, total_bytes;
};

struct frame_head {
	uint64_t wall_ns, uptime_ns; /* of the machine; 0: not known */
	double interval_s;
	double cpu_ratio, iowait_ratio, steal_ratio; /* of the machine, 0…1 */
	double cores;
	double mem_total, mem_available, swap_total, swap_free; /* bytes */
	double psi_cpu, psi_mem, psi_io;                        /* ratios of the interval */
	double load[3];
	double own_cpu_ratio, own_rss; /* of the recorder */
	frame_text pressure, pressure_reason, left_out;
	struct frame_gpu gpu[FRAME_GPUS_MAX];
	size_t gpus;
};

struct frame_job {
	frame_text id, type, command, limit_source;
	enum job_status status;
	uint32_t uid;
	uint64_t started_ns, ended_ns;
	bool has_exit_code;
	int exit_code, signal;
	uint32_t total_sheets, completed_sheets, current_sheet;
	double cpu_ratio, used_bytes; /* as the recorder measured them */
	bool is_used_known; /* used_bytes is that; else the sum of resident memory, at most */
	double cpu_sum, rss_sum, io_bps, threads, gpu_ratio; /* sums over its processes */
	double limit_bytes, limit_cores, limit_s;
	uint32_t procs;
};

struct frame_sheet {
	int32_t job; /* its index */
	uint32_t num;
	frame_text label;
	enum job_status status;
	uint64_t started_ns, ended_ns;
	int exit_code, signal;
	double cpu_ratio, rss_bytes, io_bps, threads; /* sums over its processes */
	uint32_t procs;
};

struct frame_proc {
	pid_t pid, ppid;
	uint32_t uid, sheet;
	int32_t job; /* its index, -1: none */
	char state;
	uint64_t age_ns;
	double cpu_ratio, rss_bytes, io_bps, threads, fds, gpu_ratio;
	frame_text command, call; /* call: where it spends its time in system calls, "futex 41%" */
};

struct frame_event {
	uint64_t wall_ns;
	frame_text kind, job, what;
	uint32_t job_uid;       /* the job's user, or FRAME_ANY_UID */
	enum severity severity; /* how loud it is shown */
	pid_t pid;
};

struct frame_anomaly {
	frame_text job, what, kind;
	uint32_t job_uid; /* the job's user, or FRAME_ANY_UID */
	enum severity severity;
	pid_t pid; /* 0: a whole job or the machine */
	uint64_t began_ns;
};

struct frame {
	enum frame_source source;
	struct frame_head head;
	VEC(struct frame_job) jobs;
	VEC(struct frame_sheet) sheets;
	VEC(struct frame_proc) procs;
	VEC(struct frame_event) events; /* oldest first */
	VEC(struct frame_anomaly) anomalies;
	uint32_t procs_all; /* that the machine has, whatever is left out here */
	bool is_complete;
	struct buf text;
};

void frame_reset(struct frame *f); /* nothing known, memory kept */
void frame_done(struct frame *f);
frame_text frame_keep(struct frame *f, const char *text, size_t n);
frame_text frame_keep_str(struct frame *f, const char *text); /* NULL: "" */
const char *frame_str(const struct frame *f, frame_text t);
int32_t frame_find_job(const struct frame *f, struct job_key key); /* -1: none */
struct job_key frame_job_key(const struct frame *f, size_t job);
/* Whether a job, as an event or an anomaly names it, is that one. */
bool frame_is_of_job(const struct frame *f, frame_text id, uint32_t uid, struct job_key key);
struct frame_sheet *frame_find_sheet(struct frame *f, int32_t job, uint32_t num); /* NULL: none */
/* New ones, with all figures unknown; NULL: too many. */
struct frame_job *frame_add_job(struct frame *f, struct job_key key);
struct frame_proc *frame_add_proc(struct frame *f);
/* What jobs and sheets do together, from their processes, and events in the order of their time: after all were added.
 * Only `job` is kept, unless it is NULL. */
void frame_complete(struct frame *f, const struct job_key *job);
