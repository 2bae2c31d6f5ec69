/* SPDX-License-Identifier: MIT */
/* snapshot.h - what a sample means: rates, sums, and the job of each process. Const for every reader;
 * it owns all it holds, so it can be handed to another thread. */
#pragma once

#include "model/anomaly.h"
#include "model/job_roster.h"
#include "model/sample.h"

struct proc_snap {
	struct proc_sample s; /* text in snapshot->text */
	double cpu_ratio;     /* of one core; NAN: not known (first sight, counter restarted) */
	double read_bytes_per_s, write_bytes_per_s; /* NAN: not known */
	uint64_t age_ns;
	int32_t job; /* index in snapshot->jobs, -1: none */
	uint32_t sheet;
	bool is_joined; /* as in struct job_ref */
};

/* The current usage of a job's processes together. */
struct job_sum {
	uint32_t procs;
	uint64_t rss_bytes;          /* shared pages count for each process */
	struct figure used;          /* bytes that dropping the page cache cannot free */
	struct figure charged;       /* bytes charged to the job's control group */
	struct figure cpu_ns;        /* since the job began, of processes that ended too */
	double cpu_ratio;            /* of one core since the previous tick; NAN: not known */
	struct figure read, written; /* bytes from and to storage since the job began */
	/* Usage by its own processes: bytes on all GPUs, thousandths of one GPU's processors, and
	 * millijoules since the job began. */
	struct figure gpu_memory, gpu_sm, gpu_energy;
	/* The state of the GPUs it uses, with all that run there: bytes in use, and their mean load
	 * in thousandths. */
	struct figure gpu_device_memory, gpu_util;
};

/* The lists of a snapshot, X(container, name): declared, reset and freed from this table.
 *	procs      ascending by pid
 *	gpu_uses   `gpu` is the position in gpus
 *	events     in the order of their time
 *	sums       one for each of jobs
 *	sheets     those that are not stored as they are now
 *	anomalies  those that last, and those that have just ended
 *	zombies    of jobs
 *	callers    whose system calls follow: traced processes, ascending by pid, then sheets and jobs
 *	syscalls   … what each of them did
 *	flights    the last calls of processes that failed */
#define SNAPSHOT_LISTS(X)                                                                          \
	X(VEC(struct proc_snap), procs)                                                            \
	X(VEC(struct gpu_sample), gpus)                                                            \
	X(VEC(struct gpu_use), gpu_uses)                                                           \
	X(VEC(struct event), events)                                                               \
	X(VEC(struct job), jobs)                                                                   \
	X(VEC(struct job_sum), sums)                                                               \
	X(VEC(struct sheet), sheets)                                                               \
	X(struct anomaly_list, anomalies)                                                          \
	X(VEC(pid_t), zombies)                                                                     \
	X(VEC(struct syscall_owner), callers)                                                      \
	X(VEC(struct syscall_count), syscalls)                                                     \
	X(VEC(struct flight), flights)

struct snapshot {
	uint64_t seq; /* counts from 1 in the life of one recorder */
	uint64_t wall_ns, boot_ns;
	uint64_t elapsed_ns; /* since the previous snapshot; 0 for the first */
	uint64_t uptime_ns;  /* of the recorder */
	pid_t recorder_pid;
	char boot_id[37];
	const char *pressure_level; /* a static name; NULL: not judged */

	struct host_readings host;
	struct cgroup_readings cgroup;
	struct cgroup_limit_groups limit_groups;
	double cpu_busy_ratio, cpu_iowait_ratio,
		cpu_steal_ratio; /* of the whole machine, 0…1; NAN: not known */
	double self_cpu_ratio;   /* of one core */
	double psi_cpu_ratio, psi_mem_ratio,
		psi_io_ratio; /* of the interval: some task waited; NAN: not known */

	bool procs_complete;
	bool events_complete;
	bool events_only; /* a flush between ticks: there are no processes and no readings */
	bool is_last;     /* … the last one of this recording: whatever lasts ends here */
	uint32_t running_jobs, active_sheets; /* once the figures of jobs are final */
#define X(container, name) container name;
	SNAPSHOT_LISTS(X)
#undef X
	struct buf text;
	struct snapshot_json_cache *json; /* of a frozen one; NULL: none (snapshot_json.h) */
};

/* The recorder's own usage and state. */
struct snapshot_origin {
	uint64_t seq;
	uint64_t started_boot_ns;
	pid_t pid;
	bool jobs_only; /* processes of no job, and what happens to them, are left out */
};

/* Pure: the same arguments give the same snapshot. `ret` may be used before (its memory is used
 * again). */
void snapshot_build(const struct sample *prev, /* NULL on the first tick */
                    const struct sample *cur, const struct job_roster *jobs,
                    const struct snapshot_origin *origin, struct snapshot *ret);
/* The same for the events gathered so far, between two ticks. */
void snapshot_build_events(const struct sample *cur, const struct job_roster *jobs,
                           const struct snapshot_origin *origin, struct snapshot *ret);
/* The shares of PSI, between two readings of the machine so far apart. */
void snapshot_set_stalls(struct snapshot *snap, const struct host_readings *prev,
                         const struct host_readings *cur, uint64_t elapsed_ns);
void snapshot_reset(struct snapshot *snap);
void snapshot_done(struct snapshot *snap);

/* The time of something that happened to the job, moved to the job's start if it precedes that only
 * because of the resolution of the clocks. */
uint64_t snapshot_hold_to_job(const struct job *job, uint64_t wall_ns);
/* The index of a watched job in jobs; -1: it is not in there. */
int32_t snapshot_find_job(const struct snapshot *snap, job_handle job);
/* Whether the end of a job is news in it (`ends_now`). */
bool snapshot_has_end(const struct snapshot *snap);
/* The process that has this pid now; NULL: none. */
const struct proc_snap *snapshot_find(const struct snapshot *snap, pid_t pid);
/* The system calls of a process; NULL: it is not traced. */
const struct syscall_owner *snapshot_find_caller(const struct snapshot *snap, struct proc_id id);
const char *snapshot_string(const struct snapshot *snap,
                            struct text_ref ref); /* ref.len bytes, no NUL behind them */
