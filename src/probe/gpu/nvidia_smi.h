/* SPDX-License-Identifier: MIT */
/* nvidia_smi.h - what nvidia-smi prints, for where its library cannot be used by us. Parsers on any text,
 * and the run of the program with an end in time; only the helper process runs it. */
#pragma once

#include "base/scan.h"
#include "probe/gpu/gpu_report.h"

/* The columns in the order that nvidia_smi_parse_gpus() expects: the name is last because it may hold a
 * comma. Old programs refuse a query with columns that they do not have: those about its health. */
#define NVIDIA_SMI_QUERY_GPUS                                                                      \
	"--query-gpu=index,uuid,utilization.gpu,utilization.memory,memory.used,memory.total,"      \
	"temperature.gpu,power.draw,clocks.sm,clocks.mem,"
#define NVIDIA_SMI_QUERY_HEALTH                                                                    \
	"clocks_throttle_reasons.active,ecc.errors.corrected.volatile.total,"                      \
	"ecc.errors.uncorrected.volatile.total,"
#define NVIDIA_SMI_QUERY_NAME "name"
#define NVIDIA_SMI_QUERY_APPS "--query-compute-apps=gpu_uuid,pid,used_gpu_memory"
#define NVIDIA_SMI_FORMAT "--format=csv,noheader,nounits"

/* Lines that are not understood are left out; returns how many were understood. What is [N/A],
 * [Not Supported], … is absent. */
size_t nvidia_smi_parse_gpus(struct scan text, bool has_health, struct gpu_report *ret);
/* Needs the GPUs, by whose uuid the processes are given. */
size_t nvidia_smi_parse_apps(struct scan text, struct gpu_report *ret);

/* The detected abilities of the program; zeroed before the first use. */
struct nvidia_smi {
	bool lacks_health;
};

/* path: the program, for tests; NULL: the system's. */
void nvidia_smi_read(struct nvidia_smi *smi, const char *path, struct gpu_report *ret);
