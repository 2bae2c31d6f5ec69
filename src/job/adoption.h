/* SPDX-License-Identifier: MIT */
/* adoption.h - processes that descend from no job and belong to one all the same: because they are
 * in its control group, have its id in $PROCTOR_JOB_ID, or name its workspace in their command
 * line; in this order. The last two count for processes of the job's user only.
 *
 * It is made for every tick: an environment is read once for each program that a process runs, some
 * at a time, and nothing of it is kept but a hash of the id; a command line is compared once
 * with each workspace; groups are read for a limited time. */
#pragma once

#include "job/members.h"

struct adoption;

struct adoption_claim {
	struct proc_id root;   /* the job's first process */
	pid_t registrar;       /* 0: not known. Who speaks of a job may name its workspace */
	const char *group;     /* own_cgroup_find(); NULL: none */
	const char *workspace; /* as signature_workspace_clean() left it; NULL or "": none */
};

struct process_reader;

/* Both stay the caller's. */
struct adoption *adoption_new(int root_fd, struct process_reader *reader);
void adoption_free(struct adoption *st); /* NULL is fine */
DEFINE_CLEANUP(struct adoption *, adoption_free)

/* What the next job of the table claims. */
void adoption_add(struct adoption *st, const struct adoption_claim *claim);
/* As jobtab_remove(). */
void adoption_remove(struct adoption *st, int32_t job);
/* After a scan: takes in who belongs to a running job of the table that has no recorder of its own.
 * True when it found any. */
bool adoption_look(struct adoption *st, const struct sample *s, struct jobtab *t,
                   struct members *m);

/* How many files were read by now: environments, a part at a time. */
uint64_t adoption_reads(const struct adoption *st);
