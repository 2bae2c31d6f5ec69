/* SPDX-License-Identifier: MIT */
/* jobhost_state.h - what the host of a launched job knows, for its own files: jobhost.c launches the command and
 * ends with it, jobhost_hooks.c completes the snapshots of the job. */
#pragma once

#include <pthread.h>

#include "engine/forwarded_signals.h"
#include "engine/jobhost.h"

struct jobhost {
	struct jobhost_options options;
	struct loop *loop;
	struct launcher *launcher;
	struct job_cgroup *group;
	struct cgroup_readings group_readings;
	int root_fd;
	struct engine *engine;
	struct watched_job *watched;
	struct proc_id command;
	struct launch_end end;
	struct loop_source *limit_timer, *leftover_timer;
	uint64_t started_mono_ns, kill_at_ns;
	uint64_t ended_mono_ns, ended_boot_ns; /* the command */
	uint64_t sampled_boot_ns;              /* the last tick; 0: there was none */
	struct forwarded_signals forwarded;
	uint64_t used_up_cpu_ns; /* the command's limit of CPU time; 0: it was not used up, or BPF reports it */
	bool has_ended, is_last, was_asked, has_recorded_living;
	struct cause_verdict verdict; /* what a daemon answered */
	pthread_t mover;              /* moves leftovers out of the group */
	bool is_moving;
};

static inline struct job *jobhost_job(const struct jobhost *h)
{
	return &h->watched->row->job;
}

static inline struct jobs *jobhost_jobs(const struct jobhost *h)
{
	return engine_jobs(h->engine);
}

/* If no process ended before the command, it has reaped none, and wait4 returned its own usage. */
static inline bool jobhost_is_first_to_end(const struct jobhost *h)
{
	return h->has_ended && h->watched->row->processes == 1 + h->watched->outlived;
}

static inline bool jobhost_has_failed(const struct jobhost *h)
{
	return h->has_ended && (!h->end.has_exit_code || h->end.exit_code != 0);
}

static inline void jobhost_emit(struct jobhost *h, enum event_kind kind, const char *name,
                                uint64_t count, const char *text)
{
	const struct event e = { .kind = kind,
		                 .job = jobhost_job(h)->handle,
		                 .count = (int64_t)count };

	(void)engine_emit(h->engine, &e, name, text);
}

extern const struct watched_job_hooks jobhost_hooks;

void disk_check(struct jobhost *h); /* disk_check.c; after the command has ended */
