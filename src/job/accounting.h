/* SPDX-License-Identifier: MIT */
/* accounting.h - what is known of the processes of a job: their ends, what wait4 returned, the samples in
 * between. Pure. job_usage.h makes figures of it. */
#pragma once

#include "job/launch/launcher.h"
#include "model/failure_owner.h"
#include "model/snapshot.h"

struct accounting {
	uint64_t started_boot_ns;
	uint64_t exited, failed, signalled, oom_kills;
	struct failure_owner failures;
	uint64_t last_exit_boot_ns; /* 0: none has ended */
	uint64_t ended_cpu_ns;      /* of processes that ended, as reported */
	uint64_t without_cpu;       /* … whose CPU time was not reported */
	uint64_t without_peak;      /* … whose peak memory was not reported */
	uint64_t peak_rss_bytes;    /* of one process, reported at its end */
	uint64_t bound_peak_bytes;  /* … of those of which it is an upper bound only */
	uint64_t life_peak_bytes;   /* … with what they had before their first program */
	uint64_t
		our_peak_bytes; /* of a program of ours that the job started; reported or sampled */
	uint64_t seen_rss_bytes; /* of one process, sampled */
	pid_t largest_pid;
	char largest_name[COMM_LEN];
	uint64_t peak_used_bytes, peak_at_ns; /* the most at one tick; ns since the start */
	bool used_is_bound;                   /* … and there was memory that is not in it */
	bool has_samples;
	struct map
		seen; /* proc_key → CPU time when it was sampled last, of those without a reported end */
	uint64_t seen_cpu_ns; /* … of them all */
	bool lost;            /* events were lost or only inferred */

	/* Processes that are older than the job count from its start on. */
	bool counts_from_start;
	struct map baseline_cpu; /* proc_key → CPU time when it joined */
	struct map
		baseline_peak; /* proc_key → the kernel's mark of its peak then, once it is known */
	struct map baseline_read, baseline_written; /* proc_key → its I/O then */
	struct map left; /* proc_key of those that another job took over → whether it is back */

	uint64_t reaped_user_ns, reaped_system_ns, reaped_peak_bytes; /* from wait4 */
	uint64_t
		inherited_peak_bytes; /* the command's, as a copy of us: wait4's may be that; 0: not known */
	uint64_t reaped_read_bytes, reaped_written_bytes;
	bool reaped_any, reaped_all_io;

	/* By the last tick. The kernel adds to a process what the children that it waited for
	 * had: so the living count, and those that we reaped. */
	uint64_t living_read_bytes, living_written_bytes, living_cpu_ns; /* at this tick */
	uint64_t read_bytes, written_bytes, tree_cpu_ns;                 /* the most so far */
	bool has_io;
	bool lacks_begin; /* … and was found when it had been in the job for a while */
	bool has_older; /* a process is older than the job: what it had before is not known */
};

/* A snapshot in steps, so that one pass over it serves many jobs: an event of the job's or of none,
 * then, unless it has only events, each process of the job and its sum. */
void accounting_take_event(struct accounting *t, const struct event *e);
/* The end of a process that was born in the job: what it had before its first program counts, too. */
void accounting_take_life_peak(struct accounting *t, const struct event *e);
void accounting_take_process(struct accounting *t, const struct proc_snap *p);
/* A process that is older than the job joins it: only what it uses from `now` on counts. If it is
 * called again, it adds what was not known then. */
void accounting_begin_process(struct accounting *t, struct proc_id id, const char *comm,
                              const struct proc_readings *now);
bool accounting_is_older(const struct accounting *t, struct proc_id id);
/* A process leaves the job while that runs: its usage until `now` stays. NULL: it could not be read. */
void accounting_leave(struct accounting *t, struct proc_id id, const char *comm,
                      const struct proc_readings *now);
/* It is back, and begins again when its usage is read. False: it was not away. */
bool accounting_take_back(struct accounting *t, struct proc_id id);
/* Whether the kernel's mark of its peak is of the job: it rose since the process joined. */
bool accounting_mark_counts(const struct accounting *t, struct proc_id id, uint64_t mark_bytes);
/* The final usage of a process, to which nothing will be added. */
void accounting_take_usage(struct accounting *t, struct proc_id id, const char *comm,
                           const struct proc_readings *now);
/* After all processes of a tick. */
void accounting_end_tick(struct accounting *t);
/* The memory that all of them use at a tick. */
void accounting_take_used(struct accounting *t, struct figure used, uint64_t boot_ns);
bool accounting_is_inherited(const struct accounting *t, uint64_t peak_bytes);
void accounting_reap(struct accounting *t, const struct launch_end *end);
/* Whether a process may have had more than this: its peak was not reported, or only a bound of it, or it had
 * more as a copy of another one, before it ran its program. */
bool accounting_lacks_peak(const struct accounting *t, uint64_t peak_bytes);
/* The largest peak that wait4 returned; 0: none, or it may be that of a program of ours. */
uint64_t accounting_reaped_peak(const struct accounting *t);
/* Resumes a recorded job with the usage of its ended processes; live ones report theirs at the next
 * tick. */
void accounting_resume(struct accounting *t, const struct job *job, uint64_t ended_cpu_ns);
void accounting_done(struct accounting *t);
