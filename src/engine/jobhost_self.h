/* SPDX-License-Identifier: MIT */
/* jobhost_self.h - what the parts of the job's host share: jobhost.c begins and ends it,
 * jobhost_figures.c fills its snapshots, jobhost_forward.c knows who sent what we passed on,
 * jobhost_end.c sees to its ends, jobhost_say.c takes what the job says. For them only. */
#pragma once

#include <pthread.h>

#include "engine/jobhost.h"
#include "job/accounting.h"

#define FORWARDED_KEPT 32

/* A signal that we passed on, until the news of it come. */
struct forwarded {
	int signo; /* 0: the seat is free */
	pid_t pid; /* who sent it to us; 0: the kernel */
	uint32_t uid;
	char comm[COMM_LEN]; /* "": it was gone */
};

struct jobhost {
	struct jobhost_options options;
	struct loop *loop;
	struct launcher *launcher;
	struct job_cgroup *group;
	struct engine *engine;
	int root_fd;
	struct accounting tally;
	struct proc_id command;
	struct launch_end end;
	struct loop_source *limit_timer, *leftover_timer;
	uint64_t started_mono_ns, kill_at_ns;
	uint64_t ended_mono_ns, ended_boot_ns; /* the command */
	uint64_t looked_boot_ns;               /* the last look; 0: there was none */
	uint64_t outlived, leaked;
	struct forwarded forwarded[FORWARDED_KEPT]; /* a ring */
	size_t forwards;                            /* all of them */
	bool has_ended, ended_in_time, is_last;
	pthread_t mover; /* takes those that are left behind out of the group */
	bool is_moving;
};

static inline struct job *the_job(struct jobhost *h)
{
	return &engine_jobs(h->engine)->jobs.at[0];
}

static inline bool is_out_of_time(struct jobhost *h)
{
	return the_job(h)->limits_hit & 1u << JOB_LIMIT_TIME;
}

/* jobhost_figures.c: before a snapshot is stored. */
void jobhost_on_snapshot(void *self, struct snapshot *snap);
/* Whether totals of its end are worth waiting for. */
bool jobhost_cares(void *self, struct proc_id id);

/* jobhost_forward.c: a signal was passed on; and who sent those that a snapshot tells of. */
void jobhost_on_forward(void *self, int signo, pid_t from_pid, uint32_t from_uid);
void jobhost_name_origins(struct jobhost *h, struct snapshot *snap);

/* jobhost_end.c: what the launcher tells, and the clock. */
void jobhost_on_dying(void *self);
void jobhost_on_reaped(void *self, const struct launch_end *end);
void jobhost_on_late_signal(void *self, int signo);
void jobhost_on_ended(void *self, const struct launch_end *end);
void jobhost_on_time_limit(void *self);
/* Those that are still there, counted by looking: an end may not have been told yet. */
uint64_t jobhost_count_living(struct jobhost *h);
