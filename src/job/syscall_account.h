/* SPDX-License-Identifier: MIT */
/* syscall_account.h - the system calls of traced processes, summed for each process, sheet and job. */
#pragma once

#include "job/members.h"
#include "model/snapshot.h"

struct syscall_caller {
	struct proc_id id; /* pid 0: a sheet (0: none) of the job, or the whole job */
	struct job_ref at;
	bool is_job; /* the whole job */
	bool has_changed;
	uint64_t ended_boot_ns; /* 0: it lives */
	struct syscall_counts counts;
};

struct syscall_account {
	VEC(struct syscall_caller) callers;
	bool has_lost; /* some calls were not counted */
	bool are_slow; /* they took longer than they would have */
};

void syscall_account_done(struct syscall_account *a);
/* Takes the calls read since the last snapshot, and which processes have ended. */
void syscall_account_take(struct syscall_account *a, const struct job_roster *jobs,
                          const struct members *members, const struct sample *s);
/* Puts them into the snapshot: at a tick all, between ticks those that have changed. */
void syscall_account_show(struct syscall_account *a, const struct job_roster *jobs,
                          struct snapshot *snap);
/* How many calls the job made, and how long they took; they stay missing if it is not traced. Of one that was not
 * launched by us, calls of before are missing. */
void syscall_account_figures(const struct syscall_account *a, bool is_launched, struct job *job);
