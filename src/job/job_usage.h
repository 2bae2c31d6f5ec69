/* SPDX-License-Identifier: MIT */
/* job_usage.h - what a job has used by now: CPU time, memory and I/O, each from the best source
 * there is, its own control group, else its processes. Pure. The source is decided here alone:
 * figures, the sums at ticks and the shares of CPU derive from it. The source gives a figure its
 * quality; no figure is ever above the truth. */
#pragma once

#include "job/accounting.h"

struct job_usage {
	struct figure cpu, cpu_user, cpu_system; /* ns since it began */
	struct figure used, charged;             /* bytes at the last tick */
	struct figure read, written;             /* bytes since it began */
};

struct job_usage_sources {
	const struct cgroup_readings *group; /* the job's own; NULL: it has none */
	uint64_t processes;                  /* that belonged to it */
	uint64_t living;                     /* of these, now */
	bool births_are_reported;            /* every fork is reported, not found by sampling */
	bool ooms_are_reported;              /* … and every choice of the OOM killer */
	uint64_t outlived;                   /* were there when the command ended */
	uint64_t leaked;                     /* … and when the job was over */
	bool has_ended;                      /* its command has: outlived means something */
	bool is_over; /* the job is, and what was waited for: leaked means something */
};

/* Whether the group counts the memory in use: then that of its processes need not be known. */
bool job_usage_counts_memory(const struct cgroup_readings *group);
/* At a tick. */
void job_usage_take_memory(struct job_usage *u, const struct cgroup_readings *group,
                           struct figure used);
/* CPU time and I/O, with each snapshot. */
void job_usage_update(struct job_usage *u, const struct accounting *t,
                      const struct job_usage_sources *from);
/* All figures of a job that do not depend on its host. */
void job_usage_figures(const struct job_usage *u, const struct accounting *t,
                       const struct job_usage_sources *from, struct job *ret);
