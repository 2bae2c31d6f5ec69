/* SPDX-License-Identifier: MIT */
/* nvml.h - the NVIDIA driver's library, loaded at run time. It may hang, abort or scribble over our
 * memory, so only the helper process calls it (gpu_helper.h). */
#pragma once

#include "probe/gpu/gpu_report.h"

struct nvml;

/* path: the library, for tests; NULL: the system's. NULL with the reason when it cannot be used. It
 * stays open until the process ends. */
struct nvml *nvml_open(const char *path, struct gpu_report *why);
/* All GPUs, as they are now. What one does not report is absent; a GPU that is lost is listed
 * without readings. */
void nvml_read(struct nvml *n, struct gpu_report *ret);
/* The driver's bits of reasons for its clocks, also as nvidia-smi prints them → 1 << enum gpu_throttle. */
uint32_t nvml_throttle(uint64_t bits);
