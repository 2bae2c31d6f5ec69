/* SPDX-License-Identifier: MIT */
/* jobs.h - the watched jobs of one engine and their processes: `run` has one, a daemon many. A job
 * is named by a handle; jobs_remove() is the one place where it is forgotten. */
#pragma once

#include "job/adoption.h"
#include "job/members.h"
#include "job/flight_account.h"
#include "job/syscall_account.h"
#include "job/unreaped.h"
#include "job/watched_job.h"

/* What the engine's event sources are able to report. */
struct jobs_sources {
	bool births; /* every fork and exit as it happens */
	bool totals; /* … and what a process used, signals and out-of-memory kills */
};

struct jobs_birth {
	struct proc_id id;
	pid_t ppid;
	uint64_t boot_ns;
};

struct proc_ids {
	VEC(struct proc_id) list;
};

/* One for each job of a snapshot; borrowed, NULL: not known. */
struct type_histories {
	const struct type_history **at;
	size_t len, cap;
};

struct jobs {
	struct job_roster roster;
	struct members members;
	struct members_root root; /* whose children belong to a job; pid 0: none */
	struct unreaped unreaped;
	struct syscall_account syscalls;
	struct flight_account flights;
	struct adoption *adoption; /* NULL: only descendants belong to a job */
	struct jobs_sources sources;
	VEC(struct jobs_birth) births; /* since the last scan, kept with adoption */
	bool lacks_births;             /* … there were too many to keep */
	size_t learned;                /* events of the sample that is gathered, up to now */
	bool scans_for_descendants;    /* the next scan finds those born before we listened */
	int root_fd;
	struct process_reader *reader; /* the host's */
};

/* The reader stays the caller's; NULL where no process is looked up. */
struct jobs *jobs_new(struct process_reader *reader);
void jobs_free(struct jobs *jobs); /* NULL is fine */
DEFINE_CLEANUP(struct jobs *, jobs_free)

/* Adds a job as it begins; it runs from now on. NULL: there is no room for more. */
struct watched_job *jobs_add(struct jobs *jobs, const struct job *job);
/* NULL: there is none, or none any more. */
struct watched_job *jobs_get(const struct jobs *jobs, job_handle job);
/* Sets what earlier runs of the job's type used. Has no effect on a job that is not watched any
 * more. */
void jobs_set_past(struct jobs *jobs, job_handle job, const struct type_history *past);
/* Forgets a job completely. */
void jobs_remove(struct jobs *jobs, job_handle job);
/* Begins to adopt processes, too (adoption.h). */
void jobs_begin_adoption(struct jobs *jobs);
/* The process and its descendants, from the last scan (NULL: none yet) and the births since, become
 * members of the job; those of another job stay there. */
void jobs_add_tree(struct jobs *jobs, job_handle job, struct proc_id root,
                   const struct sample *last);
/* For a job that was announced late: descendants of its first process, born since it began, become members
 * though they may have ended; `ret` are those. Where some may not be known any more, its figures are lower
 * bounds. */
void jobs_add_born(struct jobs *jobs, struct watched_job *w, struct proc_id root,
                   uint64_t since_boot_ns, const struct sample *last, struct proc_ids *ret);
/* … whose ends were learned before that, if they were not since then. */
void jobs_mark_ended(struct jobs *jobs, const struct proc_ids *ended);
/* For a sheet that was announced late: descendants of the process that opened it, born since it began,
 * move to the sheet. */
void jobs_move_to_sheet(struct jobs *jobs, struct proc_id opener, struct job_ref from,
                        struct job_ref to, uint64_t since_boot_ns, const struct sample *last);
/* A sheet that no process opens is that of all members that are in none. */
void jobs_gather_in_sheet(struct jobs *jobs, struct watched_job *w, uint32_t num);
/* A process that an orchestrator has started for the job joins it, with its descendants that are in none;
 * it is a member already. */
void jobs_join(struct jobs *jobs, struct job_ref to, struct proc_id id, const struct sample *last);
/* A member is about to become that of another job: its usage until now stays with the one that it is in. */
void jobs_leave(struct jobs *jobs, struct proc_id id, const struct sample *last);
/* For members that are older than the job, only what they use from now on counts. */
void jobs_begin_members(struct jobs *jobs, struct watched_job *w, const struct sample *last);
/* Ends the membership of its processes: their usage so far is read, and after the next snapshot
 * they belong to no job. */
void jobs_close(struct jobs *jobs, struct watched_job *w, const struct sample *last);
/* The job that a living process is in; -1: none. */
job_handle jobs_find_process(const struct jobs *jobs, pid_t pid);
/* How processes are watched: "BPF tracepoints". */
const char *jobs_describe_sources(const struct jobs *jobs);

/* The steps of a tick, in this order; the second may also be taken between ticks. Births and ends
 * that were reported up to now: */
void jobs_learn_events(struct jobs *jobs, const struct sample *s);
/* which processes to read in detail; */
void jobs_focus(struct jobs *jobs, const struct sample *s, struct sample_request *to);
/* what was read is about to become a snapshot, and the next sample begins without events; */
void jobs_learn(struct jobs *jobs, const struct sample *s);
/* a stage: what the jobs used, and how they ended; */
void jobs_figures(struct jobs *jobs, struct snapshot *snap);
/* what earlier runs of the types of its jobs used, for the rules of anomalies; */
void jobs_gather_past(const struct jobs *jobs, const struct snapshot *snap,
                      struct type_histories *ret);
/* forgets processes that ended a while ago, and jobs that ended a minute ago. */
void jobs_expire(struct jobs *jobs);
/* Whether a job has no control group that counts its memory: only PSS shows what its processes share. */
bool jobs_need_pss(const struct jobs *jobs);
