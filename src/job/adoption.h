/* SPDX-License-Identifier: MIT */
/* adoption.h - processes that descend from no job and belong to one all the same: because they are
 * in its control group, have its id in $PROCTOR_JOB_ID, or name its workspace in their command
 * line; in this order. The last two count for processes of the job's user only.
 *
 * It is made for every tick: an environment is read once for each program that a process runs, some
 * at a time, and nothing of it is kept but a hash of the id; a command line is compared once
 * with each workspace; control groups are read for a limited time. */
#pragma once

#include "job/members.h"

struct adoption;
struct process_reader;
struct watched_job;

/* Both stay the caller's. */
struct adoption *adoption_new(int root_fd, struct process_reader *reader);
void adoption_free(struct adoption *a); /* NULL is fine */
DEFINE_CLEANUP(struct adoption *, adoption_free)

/* What processes of this job have in common, besides its id. `cgroup` is from own_cgroup_find(),
 * `workspace` as signature_workspace_clean() left it; NULL or "": none. A job without a claim
 * adopts none. */
void adoption_claim(struct adoption *a, const struct job_roster *t, struct watched_job *w,
                    const char *cgroup, const char *workspace);
/* At each tick: adopts processes into running jobs of the table that have no recorder of their own.
 * True when it found any. */
bool adoption_tick(struct adoption *a, const struct sample *s, struct job_roster *t,
                   struct members *m);
