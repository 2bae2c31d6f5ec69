/* SPDX-License-Identifier: MIT */
/* job_shmem.h - the shared memory that a job uses, where no control group of its own counts it. Pure.
 *
 * Shares of it are known from PSS alone, and add up if all were read at one tick: what processes of no job map,
 * too, counts in part. Until the next time, each adds as much of its growth as was new between the last two
 * readings of the same processes. Where that is not known, the growth of the largest of them counts: others may
 * map the same pages. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job_memory_list;

struct job_shmem {
	uint64_t sum_bytes; /* at the last tick */
	/* When all shares were read last: */
	uint64_t shares_bytes, whole_bytes; /* divided by their users, and not */
	uint64_t members_hash;              /* of the proc_keys */
	double new_ratio; /* of the growth of whole_bytes until then, what was new … */
	bool knows_new;   /* … if that is known */
};

/* Keeps in each member what it shared when all were read last. The shares of one tick are read one after the other, so
 * that their sum is too high while processes map the same pages: no job has more than the machine
 * (UINT64_MAX: not known). */
uint64_t job_shmem_sum(struct job_shmem *known, struct job_memory_list *now,
                       uint64_t machine_bytes);
