/* SPDX-License-Identifier: MIT */
/* cgroup_name.h - which job a control group is, by the name that a batch system or systemd gave it.
 * Pure. */
#pragma once

#include "model/job.h"

enum cgroup_kind { CGROUP_SLURM, CGROUP_UNIT };

struct cgroup_job {
	enum cgroup_kind kind;
	char id[JOB_ID_MAX]; /* "slurm-123", "slurm-123.0" (a step), "run-u12" (a unit) */
	size_t len;          /* so much of the path is the group; what is below belongs to it */
};

/* By the path of a group: Slurm's jobs and steps, on v1 and v2, and units that systemd made for one
 * command (any scope, run-….service). Sessions, terminals and applications of a desktop are
 * scopes too, and no jobs. The scripts of a Slurm job (step_batch and the like) stand for all of
 * it. */
bool cgroup_job_name(const char *path, struct cgroup_job *ret);

/* Whether a group of this path may be one job's alone: not the root, no slice, no service, no
 * session. */
bool cgroup_may_be_a_job(const char *path);
