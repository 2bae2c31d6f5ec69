/* SPDX-License-Identifier: MIT */
/* gpu.h - a GPU, and what each process does on it. Plain data that owns all it holds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/metric.h"
#include "model/process.h"

#define GPUS_MAX ((size_t)64)
#define GPU_USES_MAX ((size_t)1024)
#define GPU_TEXT_MAX 96 /* what the driver's library gives at most, NUL included */

struct gpu_sample {
	uint32_t index; /* the driver's number: what nvidia-smi shows */
	char name[GPU_TEXT_MAX];
	char uuid[GPU_TEXT_MAX];
	struct gpu_readings r;
};

/* The driver numbers processes as the host does. In a container that is another process's number,
 * or nobody's: is_foreign, and such a use belongs to no process that we know. */
struct gpu_use {
	uint32_t gpu;      /* position in the list of GPUs */
	struct proc_id id; /* start_ticks is 0 when the process was not met in the scan */
	bool is_foreign;
	struct gpu_use_readings r;
	int32_t job; /* index in snapshot->jobs, -1: none; told by the snapshot */
	uint32_t sheet;
};
