/* SPDX-License-Identifier: MIT */
/* job.h - jobs, their sheets, and what they used. Plain data. */
#pragma once

#include "base/buf.h"
#include "base/scan.h"
#include "base/vec.h"
#include "model/cause.h"
#include "model/metric.h"
#include "model/process.h"
#include "model/sheet_use.h"

#define JOB_ID_MAX 128
#define JOB_CWD_MAX 256
#define JOB_TAGS_MAX 1024 /* bytes of JSON text */
#define JOB_TAG_MAX 1024  /* bytes of a key or a value */
#define JOB_TIER_MAX 80
#define SHEET_LABEL_MAX 64
#define JOBS_MAX 4096
#define SHEETS_MAX 100000
#define JOB_ENDED_SHOWN_NS (60 * NS_PER_S) /* so long an ended job is shown with those that run */

/* X(id, name); stored by number */
/* clang-format off */
#define JOB_STATUSES(X)            \
	X(RUNNING, "running")      \
	X(COMPLETED, "completed")  \
	X(FAILED, "failed")        \
	X(LOST, "lost") /* its recorder died before it ended, or could not store the end */

/* X(id, name); stored by number */
#define JOB_LIMITS(X)                                     \
	X(MEM, "mem")     /* bytes */                     \
	X(CPU, "cpu")     /* thousandths of a core */     \
	X(PIDS, "pids")   /* tasks, threads included */   \
	X(TIME, "time")   /* ns of wall time */           \
	X(USER_PIDS, "user_pids") /* tasks of the whole user: PIDS where no group can hold it */

/* Figures of what a job used. X(id, key in JSON and SQL, unit, label where jobs are compared,
 * help); stored by key. */
#define JOB_FIGURES(X)                                                                              \
	X(CPU, "cpu_seconds", NS, "CPU", "CPU time of all its processes")                                   \
	X(CPU_USER, "cpu_user_seconds", NS, "  user", "… in user mode")                                     \
	X(CPU_SYSTEM, "cpu_system_seconds", NS, "  system", "… in the kernel")                              \
	X(CPU_THROTTLED, "cpu_throttled_seconds", NS, "  held back", "held back by its CPU limit")          \
	X(USED, "used_mb", MIB, NULL, "memory in use now that dropping the page cache cannot free")         \
	X(PEAK_USED, "peak_used_mb", MIB, "memory used", "most memory in use that dropping the page cache cannot free") \
	X(PEAK_AT, "peak_at_seconds", NS, NULL, "when that was, counted from its start")                    \
	X(PEAK_CHARGED, "peak_charged_mb", MIB, "memory charged", "most charged to its control group, page cache included") \
	X(PEAK_RSS, "peak_rss_mb", MIB, "largest process", "peak resident memory of its largest process")   \
	X(READ, "read_bytes", BYTES, "read", "read from storage")                                           \
	X(WRITTEN, "written_bytes", BYTES, "written", "written to storage")                                 \
	X(PROCESSES, "processes", COUNT, "processes", "processes it had")                                   \
	X(EXITED, "exited_processes", COUNT, NULL, "… that ended while it was watched")                     \
	X(FAILED, "failed_processes", COUNT, "  failed", "… that ended with a status other than 0")         \
	X(SIGNALLED, "signalled_processes", COUNT, "  signalled", "… that died of a signal")                \
	X(OUTLIVED, "outlived_processes", COUNT, NULL, "… that were there when its command ended")          \
	X(LEAKED, "leaked_processes", COUNT, "  left behind", "… that were still there when it was over")   \
	X(OOM_KILLS, "oom_kills", COUNT, "  killed for memory", "… that were killed because memory ran out")    \
	X(COMMAND_TOOK, "command_seconds", NS, NULL, "wall time of its command; the job may last longer")   \
	X(SELF_CPU, "recorder_cpu_seconds", NS, NULL, "CPU time of its recorder")                           \
	X(SELF_RSS, "recorder_rss_mb", MIB, NULL, "most resident memory of its recorder")

/* The same, left out of JSON when they are missing: what it did on GPUs, and its system calls if they
 * were counted. */
#define JOB_GPU_FIGURES(X)                                                                          \
	X(GPUS, "gpus_used", COUNT, "GPUs", "GPUs that its processes used")                                 \
	X(GPU_TIME, "gpu_seconds", NS, "GPU time", "time that its processes kept GPUs busy, all GPUs added") \
	X(GPU_SM, "gpu_sm_mean_pct", PCT, "  of its GPUs", "… as a share of the time of the GPUs it used")  \
	X(GPU_SM_MAX, "gpu_sm_max_pct", PCT, "  most of one", "… and the largest share of one of them")     \
	X(GPU_ENERGY, "gpu_energy_wh", WH, "GPU energy", "its part of the energy that the GPUs drew") \
	X(PEAK_GPU_MEMORY, "peak_gpu_memory_mb", MIB, "GPU memory", "most memory that its processes held on GPUs") \
	X(GPU_HELD, "gpu_held_seconds", NS, "  held for", "time in which they held memory there, all GPUs added") \
	X(GPU_IDLE_HELD, "gpu_idle_held_seconds", NS, "  held idle", "… and none of them ran there")     \
	X(GPU_UTIL, "gpu_util_mean_pct", PCT, "GPUs busy", "load of the GPUs it used, mean: by all that run there") \
	X(GPU_UTIL_MAX, "gpu_util_max_pct", PCT, NULL, "… and maximum of one of them")                      \
	X(PEAK_GPU_DEVICE, "peak_gpu_device_mb", MIB, NULL, "most memory in use on the GPUs it used: by all that run there") \
	X(GPU_DEVICE, "gpu_device_mb", MIB, NULL, "memory that those GPUs have")
#define JOB_OPTIONAL_FIGURES(X)                                                                     \
	JOB_GPU_FIGURES(X)                                                                          \
	X(SYSCALLS, "syscall_count", COUNT, "system calls", "system calls that its processes made")         \
	X(SYSCALL_TIME, "syscall_seconds", NS, "  time in them", "… and the time they spent in them, waiting included")
/* clang-format on */

#define X(id, ...) JOB_##id,
enum job_status { JOB_STATUSES(X) JOB_STATUS_COUNT };
#undef X
#define X(id, ...) JOB_LIMIT_##id,
enum job_limit { JOB_LIMITS(X) JOB_LIMIT_COUNT };
#undef X
#define X(id, ...) JOB_FIGURE_##id,
enum job_figure { JOB_FIGURES(X) JOB_OPTIONAL_FIGURES(X) JOB_FIGURE_COUNT };
#undef X

extern const struct metric job_figures[JOB_FIGURE_COUNT];

#define CAPTURE_TIER "captured output" /* in the tier of a job whose output is in its run folder */

/* Identifies a watched job for as long as it is watched, and is never used again. -1: none. */
typedef int32_t job_handle;

/* The owner of the memory limit in force, unless it is a control group: those begin with '/'. */
#define ALLOWANCE_OWN "own"         /* --mem */
#define ALLOWANCE_ULIMIT "ulimit"   /* of each process: RLIMIT_AS */
#define ALLOWANCE_MACHINE "machine" /* there is none: all memory that there is */

/* The resources that a job may use, as of its start. 0 and "": not known; of the time: not
 * limited. */
struct allowance {
	uint64_t milli_cores; /* by quota, too: so much in the long run */
	uint64_t memory_bytes;
	char memory_source[CAUSE_GROUP_MAX]; /* whose limit it is */
	uint64_t time_ns;
	uint64_t cpus; /* by affinity and cpuset: so many at one moment */
};

struct job {
	job_handle handle; /* while it is watched: not stored */
	char id[JOB_ID_MAX];
	char type[JOB_ID_MAX];
	bool type_is_given;            /* by --name, not derived from the command */
	char parent[JOB_ID_MAX];       /* the job it was started in; "": none */
	bool has_parent_uid;           /* there is one */
	uint32_t parent_uid;           /* its user: another than ours only where that is proven */
	char command[COMMAND_MAX + 1]; /* arguments joined by spaces, secrets removed */
	char cwd[JOB_CWD_MAX];
	struct proc_id root; /* its first process, of one that was registered; pid 0: not known */
	struct proc_id
		registrar; /* the process that registered it; a job without a first process lasts as
	                             long as it does, if its end is not reported */
	uint32_t uid;
	char tags[JOB_TAGS_MAX]; /* a JSON object of strings; "": none */
	char tier[JOB_TIER_MAX]; /* how it is watched: "BPF tracepoints, cgroup v2" */
	uint64_t interval_ns;    /* between two samples, the longest that was used; 0: not known */
	enum job_status status;
	uint64_t started_ns, ended_ns; /* wall clock; ended 0 while it runs */
	uint64_t took_ns; /* by the monotonic clock, leftovers included; 0 while it runs */
	bool has_exit_code;
	int exit_code, signal; /* of its command: a code or a signal, never both */
	bool core_dumped;
	struct cause cause;                                         /* of one that failed */
	uint32_t total_sheets, last_completed_sheet, current_sheet; /* current 0: none */
	uint32_t running_sheets, completed_sheets, failed_sheets; /* while it is ours: not stored */
	uint64_t limit[JOB_LIMIT_COUNT];                          /* 0: none was set */
	struct allowance allowed;
	uint64_t most_tasks; /* that may have run at once, as far as was seen; 0: not known */
	unsigned limits_hit; /* bits 1 << JOB_LIMIT_… */
	unsigned parent_limits_hit; /* when read, of a job that was lost or out of memory: those of
	                               its parents */
	bool has_recorder;          /* a connection of its own reports on it, and no other may */
	char recorded_as[JOB_ID_MAX]; /* … which stores it by this id; "": it has none */
	char recording[JOB_ID_MAX];   /* a random name, the same in both stores; "": not known */
	bool counts_from_now;         /* … though its first process is older than the job */
	bool is_stored_by_other; /* … which writes it into our own store, as we have verified: shown by us, never
	                         stored */
	bool ends_now;     /* in a snapshot: its end, or a correction of it, is news there */
	pid_t largest_pid; /* the process whose peak PEAK_RSS is; 0: not known */
	char largest_name[COMM_LEN]; /* its name */
	struct figure figures[JOB_FIGURE_COUNT];
};

/* The key of a job: two users may use the same id. The id is borrowed. */
struct job_key {
	uint32_t uid;
	const char *id;
};

static inline struct job_key job_key_of(const struct job *job)
{
	return (struct job_key){ job->uid, job->id };
}

bool job_key_eq(struct job_key a, struct job_key b);
/* Whether both run, or ended in the same way. */
bool job_is_same_end(const struct job *a, const struct job *b);
/* Whether a job of the daemon is a copy of this one, which its own recorder stored: another run may have
 * had the same id in another store. Jobs from before recordings were named are compared by id. */
bool job_is_copy(const struct job *daemons, struct job_key original, const char *recording);

/* The usage of a sheet's processes together, at the last tick that found any. */
struct sheet_tick_figures {
	uint64_t seq;     /* of that snapshot; 0: there was none */
	uint64_t boot_ns; /* when that was */
	uint64_t rss_bytes;
	double cpu_ratio;   /* NAN: not known */
	unsigned anomalies; /* bits 1 << ANOMALY_… that were active */
};

struct sheet {
	int32_t job; /* its handle; in a snapshot, the index in its jobs */
	uint32_t num;
	uint32_t attempt;            /* 1, and one more each time it is opened again */
	char label[SHEET_LABEL_MAX]; /* "": none */
	enum job_status status;
	uint64_t started_ns, ended_ns; /* wall clock; ended 0 while it runs */
	bool has_exit_code;
	int exit_code, signal;
	pid_t pid;       /* the process that opened it */
	uint32_t outer;  /* the sheet that this process was in before; 0: none */
	bool is_wrapper; /* it only waits for the command whose sheet it is */
	struct sheet_use
		own; /* of that process, or as it reported of its command: sheet_use_join() */
	struct sheet_tick_figures tree;
	bool is_shown; /* a snapshot has it as it is now: not put into the next */
	bool ends_now;  /* in a snapshot: it was open when its job or its process ended */
};

/* How a job or a sheet ended. */
struct job_end {
	enum job_status status;
	bool has_exit_code;
	int exit_code, signal; /* a code or a signal, never both */
	bool core_dumped;
	uint64_t ended_ns;          /* wall clock; 0: now */
	const struct job *recorded; /* what its own recorder knows of the reason; NULL: has none */
};

/* Whether it stands in JSON: those that most jobs cannot have are left out where they are missing. */
static inline bool job_shows_figure(const struct job *job, enum job_figure id)
{
	return job_figures[id].need == METRIC_ALWAYS || figure_is_known(job->figures[id]);
}

const char *job_status_name(enum job_status status);
const char *job_limit_name(enum job_limit limit);
enum metric_unit job_limit_unit(enum job_limit limit);
/* Adds a source to the description of how the job is watched; NULL: none. */
void job_add_to_tier(struct job *job, const char *source);
/* How long it took so far; by the wall clock where it was not measured. */
uint64_t job_took_ns(const struct job *job, uint64_t now_ns);
/* Whether it failed because it ran out of memory, certainly or probably. */
bool job_is_oom(const struct job *job);
/* Whether its usage shows what jobs of its type need: it succeeded, or ran out of memory and needed
 * at least as much as it had. A job that failed early shows less. */
bool job_shows_need(const struct job *job);
/* Whether so much memory of one process is close to all that the job may use, or it ran out of memory: most
 * programs grow when they load their data. */
bool job_is_short_of_memory(const struct job *job, double process_bytes);
/* Its outcome as one word for programs: "ok", "running", "lost"; of a failed job the most specific of
 * "oom", "limit", "signal", "failed". */
const char *job_outcome(const struct job *job);
/* The next tag in a job's tags, key and value without escapes; both buffers are emptied first. Start
 * with the whole text as `at`; false at its end, or where it is malformed. */
bool job_tags_next(struct scan *at, struct buf *key, struct buf *value);
