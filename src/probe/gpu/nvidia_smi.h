/* SPDX-License-Identifier: MIT */
/* nvidia_smi.h - what nvidia-smi prints, for where its library cannot be used by us. Parsers on any text,
 * and the run of the program with an end in time; only the helper process runs it. */
#pragma once

#include "base/scan.h"
#include "probe/gpu/gpu_report.h"

/* The columns in the order that nvidia_smi_parse_gpus() expects: the name is last because it may hold a
 * comma. */
#define NVIDIA_SMI_QUERY_GPUS                                                                      \
	"--query-gpu=index,uuid,utilization.gpu,utilization.memory,memory.used,memory.total,"      \
	"temperature.gpu,power.draw,clocks.sm,clocks.mem,name"
#define NVIDIA_SMI_QUERY_APPS "--query-compute-apps=gpu_uuid,pid,used_gpu_memory"
#define NVIDIA_SMI_FORMAT "--format=csv,noheader,nounits"

/* Lines that are not understood are left out; returns how many were understood. What is [N/A],
 * [Not Supported], … is absent. */
size_t nvidia_smi_parse_gpus(struct scan text, struct gpu_report *ret);
/* Needs the GPUs, by whose uuid the processes are given. */
size_t nvidia_smi_parse_apps(struct scan text, struct gpu_report *ret);

/* path: the program, for tests; NULL: the system's. */
void nvidia_smi_read(const char *path, struct gpu_report *ret);
