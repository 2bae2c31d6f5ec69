/* SPDX-License-Identifier: MIT */
/* gpu_account.h - what a job does on GPUs: what its own processes use, and beside it how busy and how full
 * those GPUs are with all that run there. Pure.
 *
 * The GPUs that count are those on which a process of the job was found. Where the driver does not list
 * processes, or lists some that we cannot identify (in a container), all GPUs count, and the job's own share
 * is not known. */
#pragma once

#include "job/gpu_device_account.h"
#include "model/snapshot.h"

/* What was recorded before of a job that continues. */
struct gpu_account_past {
	struct figure gpus, time, sm_max, energy, held, idle;
};

struct gpu_account {
	VEC(struct gpu_device_account) devices;
	bool was_listed;   /* at some tick every process on every GPU was known */
	bool was_unlisted; /* … at some not */
	bool lacks_memory; /* the driver did not report the memory of a process of the job */
	bool has_own, has_held;
	uint64_t own_bytes, held_bytes; /* the most at one tick */
	struct gpu_account_past past;
};

/* One tick: each use of a process of the job, then the rest. `watched_ns` is the time since the
 * tick before without the time in which GPUs were not read. */
void gpu_account_add(struct gpu_account *a, const struct snapshot *snap, const struct gpu_use *use);
void gpu_account_take(struct gpu_account *a, const struct snapshot *snap, uint64_t watched_ns,
                      struct job_sum *ret);
void gpu_account_figures(const struct gpu_account *a, struct job *ret);
/* Continues the account of a job that was recorded up to now. */
void gpu_account_resume(struct gpu_account *a, const struct job *job);
void gpu_account_done(struct gpu_account *a);
