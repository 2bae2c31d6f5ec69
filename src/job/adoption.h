/* SPDX-License-Identifier: MIT */
/* adoption.h - processes that descend from no job and belong to one all the same: because they are
 * in its control group, have its id in $PROCTOR_JOB_ID, or name its workspace in their command
 * line; in this order. The last two count only for processes that have the job's user as real, effective and
 * saved one, run no program with more rights than its caller had (AT_SECURE), and whose parent, as it was when the process
 * was first seen, is such a process too or a member of the job: others carry another user's environment and arguments.
 *
 * It is made for every tick: an environment is read once for each program that a process runs, and nothing of it is
 * kept but a hash of the id; a command line is compared once with each workspace; whose word they are is read for those
 * that name a job. Only some processes are read at a tick, and control groups for a limited time. */
#pragma once

#include "job/members.h"

struct adoption;
struct process_reader;
struct watched_job;

/* Both stay the caller's. */
struct adoption *adoption_new(int root_fd, struct process_reader *reader);
void adoption_free(struct adoption *a); /* NULL is fine */
DEFINE_CLEANUP(struct adoption *, adoption_free)

/* The signatures of this job's processes, besides its id. `cgroup` is from own_cgroup_find(),
 * `workspace` as signature_workspace_clean() left it; NULL or "": none. A job without a claim
 * adopts none. */
void adoption_claim(struct adoption *a, const struct job_roster *t, struct watched_job *w,
                    const char *cgroup, const char *workspace);
/* Notes the parent and the user of each process as it started. Call it with all events, in their order. */
void adoption_learn(struct adoption *a, const struct event *events, size_t n);
/* At each tick: adopts processes into running jobs of the table that have no recorder of their own.
 * True when it found any. */
bool adoption_tick(struct adoption *a, const struct sample *s, struct job_roster *t,
                   struct members *m);
