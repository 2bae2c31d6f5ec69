/* SPDX-License-Identifier: MIT */
/* job_roster.h - the watched jobs, their sheets, and which process belongs to which: what
 * snapshot_build() reads of jobs. Plain data and look-ups; job/jobs.h decides. */
#pragma once

#include "base/map.h"
#include "model/job.h"

struct watched_job;

/* Where a process belongs; job is -1 for none. */
struct job_ref {
	job_handle job;
	uint32_t sheet;
	bool is_joined; /* it is older than the sheet: what it did before is no part of that. Found
	                   by members_add() */
};

/* One job. A row never moves while the job is in the table. */
struct job_row {
	struct job job;
	VEC(struct sheet) sheets;
	bool has_news;               /* some of its sheets are not in a snapshot as they are now */
	uint64_t processes;          /* that ever belonged to it; counted by members.h */
	uint64_t living;             /* of these, now */
	uint64_t closed_boot_ns;     /* it has no members that are born later; 0: it runs */
	struct watched_job *watched; /* what job/ keeps about it; NULL: nothing */
};

struct job_slot {
	struct job_row *row; /* NULL: free */
	int32_t generation;  /* how many jobs were here before */
	int32_t index;       /* of the row in rows */
};

struct job_roster {
	VEC(struct job_row *) rows; /* in the order they came; snapshot->jobs has the same */
	VEC(struct job_slot) slots; /* by the low bits of a handle */
	struct map members;         /* proc_key → job << 32 | is_joined << 31 | sheet */
	size_t sheets;              /* of all jobs */
};

/* The new job, or -1 at the ceiling or when an id or type is too long. */
job_handle job_roster_add(struct job_roster *t, const char *id, const char *type,
                          uint64_t started_ns);
/* NULL: there is none, or none any more. */
struct job_row *job_roster_get(const struct job_roster *t, job_handle job);
int32_t job_roster_index(const struct job_roster *t, job_handle job); /* in rows; -1: none */
job_handle job_roster_find_key(const struct job_roster *t, struct job_key key); /* -1: none */
/* Removes the job with its sheets; its members then belong to no job. Other handles and rows stay
 * as they are. */
void job_roster_remove(struct job_roster *t, job_handle job);
void job_roster_assign(struct job_roster *t, struct proc_id id, struct job_ref ref);
void job_roster_forget(struct job_roster *t, struct proc_id id);
struct job_ref job_roster_find(const struct job_roster *t, struct proc_id id);
void job_roster_done(struct job_roster *t);

/* The sheet of that number; NULL: none. */
struct sheet *job_row_sheet(const struct job_row *row, uint32_t num);
/* Opens it, and moves the job's progress; NULL at the ceiling. num 0: the next one. One that was
 * open before begins again as its next attempt, under its old label if it is given none. Pointers
 * to sheets are good until the next is opened. */
struct sheet *job_roster_begin_sheet(struct job_roster *t, struct job_row *row, uint32_t num,
                                     const char *label, uint64_t now_ns);
/* Ends it with this status and moves the job's progress. */
void job_row_end_sheet(struct job_row *row, struct sheet *sheet, enum job_status status,
                       uint64_t now_ns);
