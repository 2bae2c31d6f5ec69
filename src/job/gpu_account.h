/* SPDX-License-Identifier: MIT */
/* gpu_account.h - what a job does on GPUs: what its own processes use, and beside it how busy and how full
 * those GPUs are with all that run there. Pure.
 *
 * The GPUs that count are those on which a process of the job was found. Where the driver does not list
 * processes, or lists some that we cannot tell (in a container), all GPUs count, and the job's own share
 * is not known. */
#pragma once

#include "model/snapshot.h"

struct gpu_account_device {
	uint32_t index;
	bool is_used;               /* a process of the job was on it */
	uint64_t seen_ns;           /* time in which it answered */
	uint64_t busy_ns, known_ns; /* its load times the time, and the time with a known load */
	uint64_t own_ns;            /* the same of the job's processes */
	unsigned max_pct;           /* of its load */
	uint64_t total_bytes;       /* 0: not known */
	bool has_sm;                /* the driver reported the load of a process of the job */
	unsigned sm_pct;            /* … the latest, */
	uint64_t sm_boot_ns;        /* and when that was */

	/* At this tick, of the job's processes. */
	unsigned uses, uses_with_memory, uses_with_sm;
	uint64_t own_bytes;
	unsigned own_sm_pct;
};

struct gpu_account {
	VEC(struct gpu_account_device) devices;
	bool was_listed;   /* at some tick every process on every GPU was known */
	bool was_unlisted; /* … at some not */
	bool lacks_memory; /* the driver did not report the memory of a process of the job */
	bool has_own, has_held;
	uint64_t own_bytes, held_bytes; /* the most at one tick */
	uint64_t past_ns;               /* of a job that goes on: GPU time of before */
};

/* One tick: each use of a process of the job, then the rest. */
void gpu_account_add(struct gpu_account *a, const struct snapshot *snap, const struct gpu_use *use);
void gpu_account_take(struct gpu_account *a, const struct snapshot *snap, struct job_sum *ret);
void gpu_account_figures(const struct gpu_account *a, struct job *ret);
/* Goes on with a job that was recorded up to now. */
void gpu_account_resume(struct gpu_account *a, const struct job *job);
void gpu_account_done(struct gpu_account *a);
