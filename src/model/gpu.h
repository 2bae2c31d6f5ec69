/* SPDX-License-Identifier: MIT */
/* gpu.h - a GPU, and what each process does on it. Plain data that owns all it holds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/metric.h"
#include "model/process.h"

#define GPUS_MAX ((size_t)64)
#define GPU_USES_MAX ((size_t)1024)
#define GPU_TEXT_MAX 96 /* the longest text of the driver's library, NUL included */

/* The use of one GPU by several processes together. */
struct gpu_load {
	uint32_t uses, with_memory, with_sm; /* how many, and of how many the driver reported it */
	uint32_t partial;                    /* … of how many only a part of it */
	uint64_t memory_bytes;
	uint32_t sm_pct;
};

#define GPU_BUS_MAX 24

/* Why a GPU runs slower than it could; X(id, key in JSON, words). Only what a user would call
 * throttling: not that it idles, nor that its clocks were set so. */
/* clang-format off */
#define GPU_THROTTLES(X)                                                   \
	X(POWER_CAP, "power_cap", "power limit")                           \
	X(SW_THERMAL, "sw_thermal", "too hot, slowed down by the driver")  \
	X(HW_THERMAL, "hw_thermal", "too hot, slowed down by the hardware") \
	X(POWER_BRAKE, "power_brake", "power brake of the system")         \
	X(HW_SLOWDOWN, "hw_slowdown", "slowed down by the hardware")
/* clang-format on */

#define X(id, ...) GPU_THROTTLE_##id,
enum gpu_throttle { GPU_THROTTLES(X) GPU_THROTTLE_COUNT };
#undef X

/* Faults of a GPU. Counters are those since the driver was loaded. */
struct gpu_health {
	bool knows_throttle, knows_corrected, knows_uncorrected;
	uint32_t throttle; /* 1 << enum gpu_throttle */
	uint64_t ecc_corrected, ecc_uncorrected;
};

/* Indexes are unique and do not change while a recorder runs: NVIDIA's are the driver's, below 64;
 * parts of them (MIG) are 100 × (index + 1) + their number; those of other vendors begin at 0 where no
 * NVIDIA driver is loaded, else at 64. */
#define GPU_INDEX_OTHERS 64
#define GPU_INDEX_PARTS 100

struct gpu_sample {
	uint32_t index; /* the driver's number: what nvidia-smi shows */
	bool is_part;   /* of the GPU with the index `parent`: a MIG instance */
	uint32_t parent;
	char name[GPU_TEXT_MAX];
	char uuid[GPU_TEXT_MAX];
	char bus[GPU_BUS_MAX]; /* "0000:03:00.0"; "": not known */
	bool is_lost; /* it was asked and answered nothing at all: for example, it fell off its bus */
	struct gpu_readings r;
	uint64_t at_least; /* bits of `r`: the sum over the processes that we can see */
	struct gpu_health health;
	bool knows_processes; /* the driver listed all that are on it, and each has a pid of ours: those of
	                         a snapshot that was built, not of one that was read back */
	struct gpu_load all;  /* of all processes on it, those of no job included; likewise */
};

/* The driver uses the host's pids. In a container such a pid names another process, or none: then
 * has_host_pid is set, and the use belongs to no process that we know. */
struct gpu_use {
	uint32_t gpu;      /* position in the list of GPUs */
	struct proc_id id; /* start_ticks is 0 if the process was not found at this tick */
	bool has_host_pid;
	struct gpu_use_readings r;
	bool is_partial; /* not all that it does there could be read: figures are at least that */
	int32_t job;     /* index in snapshot->jobs, -1: none; set by snapshot_build() */
	uint32_t sheet;
};

static inline void gpu_load_add(struct gpu_load *to, const struct gpu_use *use)
{
	to->uses++;
	to->partial += use->is_partial;
	to->with_memory += readings_has(&use->r, GPU_USE_MEM);
	to->memory_bytes += readings_or(&use->r, GPU_USE_MEM, 0);
	to->with_sm += readings_has(&use->r, GPU_USE_SM);
	to->sm_pct += (uint32_t)readings_or(&use->r, GPU_USE_SM, 0);
}

extern const char *const gpu_throttle_keys[GPU_THROTTLE_COUNT];
/* Words for a set of reasons: "power limit, too hot, slowed down by the hardware". */
void gpu_throttle_words(uint32_t throttle, char *to, size_t cap);
