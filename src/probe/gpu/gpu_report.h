/* SPDX-License-Identifier: MIT */
/* gpu_report.h - what the helper process tells the recorder about GPUs, as one message. It is
 * checked when it arrives: the helper has the driver's library in its memory, and that may have
 * done anything to it. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "model/gpu.h"

enum gpu_verdict {
	GPU_TOLD,       /* the lists are true, also when they are empty */
	GPU_BROKEN,     /* nothing to be had now; another helper may have more luck */
	GPU_IMPOSSIBLE, /* nor later: no library, no driver, or they do not fit together */
};

struct gpu_report {
	enum gpu_verdict verdict;
	char text[200];              /* GPU_TOLD: "driver 535.104.05"; else the reason */
	uint64_t took_ns;            /* from question to answer */
	uint64_t cpu_ns, peak_bytes; /* what the helper and its children used so far */
	uint32_t gpu_count, use_count;
	struct gpu_sample gpus[GPUS_MAX];
	struct gpu_use uses[GPU_USES_MAX];
};

/* No larger message is sent or taken. */
#define GPU_REPORT_MAX (sizeof(struct gpu_report))

/* Says why nothing can be told. */
void gpu_report_refuse(struct gpu_report *r, enum gpu_verdict verdict, const char *fmt, ...)
	printf_like(3, 4);
/* The slot of this process on this GPU, a new one if need be; NULL at the ceiling or when that is
 * no pid. */
struct gpu_use *gpu_report_use(struct gpu_report *r, uint32_t gpu, uint64_t pid);

bool gpu_report_encode(const struct gpu_report *r, struct buf *to);
/* -EBADMSG and nothing written for bytes that encode() does not make. */
int gpu_report_decode(const void *bytes, size_t n, struct gpu_report *ret, struct err *err)
	must_check;
