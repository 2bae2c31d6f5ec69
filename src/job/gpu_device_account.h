/* SPDX-License-Identifier: MIT */
/* gpu_device_account.h - what one job did on one GPU: how long its processes held memory there, how busy they
 * kept it, and their part of the energy. Integrals over time; time in which the GPU did not answer is in none
 * of them. Pure. */
#pragma once

#include "model/gpu.h"

/* The load of processes as it was reported last. */
struct gpu_held_load {
	uint32_t sm_pct;
	uint64_t boot_ns;
};

struct gpu_device_account {
	uint32_t index;
	bool is_used;               /* a process of the job was on it */
	uint64_t seen_ns;           /* time in which it answered */
	uint64_t busy_ns, known_ns; /* its load times the time, and the time with a known load */
	uint64_t own_ns;            /* the load of the job's processes times the time */
	uint64_t held_ns, idle_ns;  /* they held memory; … and did not run */
	double energy_mj;           /* their part of what it drew */
	unsigned max_pct, own_max_pct;
	uint64_t total_bytes; /* 0: not known */

	bool is_partial;    /* of a process of the job only a part of what it did could be read */
	uint64_t bounds;    /* bits of its readings that were lower bounds at some tick */
	bool has_sm;        /* the driver reported the load of a process, of any job or none */
	bool has_energy;    /* … its power while the job was on it */
	uint64_t missed_ns; /* since the job was on it: it did not answer, or was not asked */
	/* Time in which the job was on it, and its load is not known; … nor whether it ran at all; … nor
	 * its part of the energy. */
	uint64_t no_load_ns, no_idle_ns, no_energy_ns;
	uint64_t mute_ns; /* it has been busy for so long, and no process was reported to be */
	struct gpu_held_load own_sm, others_sm;

	/* At this tick. */
	bool has_answered, knows_load;
	struct gpu_load own;
};

/* One tick: gpu_load_add() to `own` for each process of the job on it, then this if it answered,
 * and gpu_device_account_end_tick() in any case. `watched_ns` is the time since the tick before,
 * without the time in which GPUs were not read: a part of `elapsed_ns`. */
void gpu_device_account_take(struct gpu_device_account *d, const struct gpu_sample *gpu,
                             uint64_t boot_ns, uint64_t watched_ns);
void gpu_device_account_end_tick(struct gpu_device_account *d, uint64_t elapsed_ns,
                                 uint64_t watched_ns);
