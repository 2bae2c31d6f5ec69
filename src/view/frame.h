/* SPDX-License-Identifier: MIT */
/* frame.h - what `proctor top` shows of one instant, whether it is now (answers of a daemon) or past (the store). Plain
 * data: figures are NAN where they are not known, texts lie in `text`. */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "model/anomaly.h"
#include "model/history_record.h"
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
#define FRAME_EVENTS_MAX 50000
#define FRAME_ANY_UID UINT32_MAX /* not known: an older server does not name the users of jobs */

/* The figures of processes, each with a column; those of sheets and jobs are the sums of theirs.
 * X(id, its member of processes in daemon.top, another one to add, factor to our unit, title and width of the column, how it is shown, rank of
 * the column when room is scarce, name and letter to sort by) */
/* clang-format off */
#define FRAME_FIGURES(X)                                                                            \
	X(CPU, "cpu_percent", "", 0.01, "CPU%", 6, PCT, 1, "CPU", 'P')                          \
	X(MEM, "rss_mb", "", 1048576.0, "MEM", 7, BYTES, 2, "memory", 'M')                          \
	X(GPU, "gpu_sm_pct", "", 0.01, "GPU%", 5, PCT, 5, "GPU", 0)                             \
	X(IO, "read_bytes_per_s", "write_bytes_per_s", 1, "I/O/s", 6, BYTES, 6, "I/O", 'I')         \
	X(THREADS, "threads", "", 1, "THR", 4, COUNT, 10, "threads", 0)                             \
	X(FDS, "open_fds", "", 1, "FD", 5, COUNT, 9, "open files", 0)
/* clang-format on */
#define X(id, ...) FRAME_##id,
enum frame_figure { FRAME_FIGURES(X) FRAME_FIGURE_COUNT };
#undef X

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
	frame_text result; /* of one that has ended: "out of memory (own limit 8.0 GiB)" */
	enum job_status status;
	uint32_t uid;
	uint64_t started_ns, ended_ns;
	uint32_t total_sheets, completed_sheets, current_sheet;
	double measured[FRAME_FIGURE_COUNT]; /* by the recorder, of the whole job: memory is what it uses */
	double figure[FRAME_FIGURE_COUNT];   /* that, or the sum over its processes, of memory at most */
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
	double figure[FRAME_FIGURE_COUNT]; /* sums over its processes */
	uint32_t procs;
};

struct frame_proc {
	pid_t pid, ppid;
	uint32_t uid, sheet;
	int32_t job; /* its index, -1: none */
	char state;
	uint64_t age_ns;
	double figure[FRAME_FIGURE_COUNT];
	frame_text command, call; /* call: where it spends its time in system calls, "futex 41%" */
};

struct frame_event {
	uint64_t wall_ns;
	frame_text kind, job, what;
	uint32_t job_uid;       /* the job's user, or FRAME_ANY_UID */
	enum severity severity; /* how loud it is shown */
	pid_t pid;
	bool is_trouble; /* an anomaly, a death, a failure: somewhere to go */
	bool is_anomaly;
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
/* Whether two descriptions of anomalies ("zombie: sh 31258 not reaped for 15 s") are of one kind. */
bool frame_is_alike(const struct frame *f, frame_text one, frame_text other);
/* Whether a job, as an event or an anomaly names it, is that one. */
bool frame_is_of_job(const struct frame *f, frame_text id, uint32_t uid, struct job_key key);
/* New ones, with all figures unknown; NULL: too many. */
struct frame_job *frame_add_job(struct frame *f, struct job_key key);
struct frame_sheet *frame_add_sheet(struct frame *f, int32_t job);
struct frame_proc *frame_add_proc(struct frame *f);
/* An event of a process or a recorder on the timeline, if it is worth a line; an anomaly that lasts; when the jobs of the frame began and
 * ended. */
void frame_add_event(struct frame *f, const struct event_record *e);
void frame_add_anomaly(struct frame *f, const struct anomaly_record *a);
void frame_add_jobs(struct frame *f);
/* The same of sheets: all of them, or the latest, of `job` unless it is NULL. After the rest, so that many sheets displace no death. */
void frame_add_sheets(struct frame *f);
void frame_add_latest_sheets(struct frame *f, const struct job_key *job);
/* What jobs and sheets do together, from their processes, and events in the order of their time: after all were added.
 * Only `job` is kept, unless it is NULL. */
void frame_complete(struct frame *f, const struct job_key *job);
