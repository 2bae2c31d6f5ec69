/* SPDX-License-Identifier: MIT */
/* job.h - jobs, their sheets, and which process belongs to which. Plain data and look-ups: who
 * decides lives in job/. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "model/process.h"

#define JOB_ID_MAX 128
#define JOBS_MAX 4096

/* X(id, name) */
/* clang-format off */
#define JOB_STATUSES(X)            \
	X(RUNNING, "running")      \
	X(COMPLETED, "completed")  \
	X(FAILED, "failed")        \
	X(LOST, "lost") /* its recorder died before it ended */
/* clang-format on */

#define X(id, ...) JOB_##id,
enum job_status { JOB_STATUSES(X) JOB_STATUS_COUNT };
#undef X

struct job {
	char id[JOB_ID_MAX];
	char type[JOB_ID_MAX];
	enum job_status status;
	uint64_t started_ns, ended_ns; /* wall clock; ended 0 while it runs */
	bool has_exit_code;
	int exit_code, signal;
	uint32_t total_sheets, last_completed_sheet, current_sheet; /* current 0: none */
};

/* Where a process belongs; job is -1 for none. */
struct job_ref {
	int32_t job; /* index in jobtab->jobs */
	uint32_t sheet;
};

struct jobtab {
	VEC(struct job) jobs;
	struct map members; /* proc_key → job << 32 | sheet */
};

const char *job_status_name(enum job_status status);
/* Index of the new job, or -1 at the ceiling or when an id or type is too long. */
int32_t jobtab_add(struct jobtab *t, const char *id, const char *type, uint64_t started_ns);
void jobtab_assign(struct jobtab *t, struct proc_id id, struct job_ref ref);
void jobtab_forget(struct jobtab *t, struct proc_id id);
struct job_ref jobtab_find(const struct jobtab *t, struct proc_id id);
void jobtab_done(struct jobtab *t);
