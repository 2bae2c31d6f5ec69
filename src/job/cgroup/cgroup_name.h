/* SPDX-License-Identifier: MIT */
/* cgroup_name.h - recognises jobs by the names that batch systems and systemd give to control
 * groups. Pure. */
#pragma once

#include "model/job.h"

enum cgroup_kind { CGROUP_SLURM, CGROUP_UNIT };

struct cgroup_job {
	enum cgroup_kind kind;
	char id[JOB_ID_MAX]; /* "slurm-123", "slurm-123.0" (a step), "run-u12" (a unit) */
	size_t len;          /* the part of the path that is the group */
};

/* By the path of a group: jobs and steps of Slurm, on v1 and v2, and units that systemd created for
 * one command (any scope, run-….service). Sessions, terminals and desktop applications are scopes,
 * too, but not jobs. The scripts of a Slurm job (step_batch and the like) stand for the whole job. */
bool cgroup_job_name(const char *path, struct cgroup_job *ret);

/* Whether a group of this path may belong to one job: not the root, a slice, a service or a
 * session. */
bool cgroup_may_be_a_job(const char *path);
