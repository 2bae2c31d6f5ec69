/* SPDX-License-Identifier: MIT */
/* gpu.h - a GPU, and what each process does on it. Plain data that owns all it holds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/metric.h"
#include "model/process.h"

#define GPUS_MAX ((size_t)64)
#define GPU_USES_MAX ((size_t)1024)
#define GPU_TEXT_MAX 96 /* the longest text of the driver's library, NUL included */

/* What several processes take of one GPU together. */
struct gpu_load {
	uint32_t uses, with_memory, with_sm; /* how many, and of how many the driver reported it */
	uint64_t memory_bytes;
	uint32_t sm_pct;
};

struct gpu_sample {
	uint32_t index; /* the driver's number: what nvidia-smi shows */
	char name[GPU_TEXT_MAX];
	char uuid[GPU_TEXT_MAX];
	struct gpu_readings r;
	bool knows_processes; /* the driver listed all that are on it, and none is foreign: those of
	                         a snapshot that was built, not of one that was read back */
	struct gpu_load all;  /* of all processes on it, those of no job included; likewise */
};

/* The driver uses the host's pids. In a container such a pid names another process, or none: then
 * is_foreign is set, and the use belongs to no process that we know. */
struct gpu_use {
	uint32_t gpu;      /* position in the list of GPUs */
	struct proc_id id; /* start_ticks is 0 if the process was not found at this tick */
	bool is_foreign;
	struct gpu_use_readings r;
	int32_t job; /* index in snapshot->jobs, -1: none; set by snapshot_build() */
	uint32_t sheet;
};

static inline void gpu_load_add(struct gpu_load *to, const struct gpu_use *use)
{
	to->uses++;
	to->with_memory += readings_has(&use->r, GPU_USE_MEM);
	to->memory_bytes += readings_or(&use->r, GPU_USE_MEM, 0);
	to->with_sm += readings_has(&use->r, GPU_USE_SM);
	to->sm_pct += (uint32_t)readings_or(&use->r, GPU_USE_SM, 0);
}
