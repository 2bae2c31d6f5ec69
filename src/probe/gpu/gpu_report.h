/* SPDX-License-Identifier: MIT */
/* gpu_report.h - what the helper process reports about GPUs, as one message. It is checked when it
 * arrives: the helper has the driver's library in its memory, which may have overwritten anything. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "model/gpu.h"

enum gpu_verdict {
	GPU_REPORTED,   /* the lists are true, also when they are empty */
	GPU_BROKEN,     /* no answer now; another helper may have one */
	GPU_IMPOSSIBLE, /* nor later: no library, no driver, or they do not fit together */
};

/* A critical error that the driver reported since the last request. It names no process. */
struct gpu_xid {
	uint32_t gpu; /* position in `gpus` */
	uint32_t code;
};
#define GPU_XIDS_MAX 32

/* Sender and receiver are the same binary, so that the struct is sent as it is, its lists up to
 * their lengths. */
struct gpu_report {
	enum gpu_verdict verdict;
	uint32_t gpu_count, use_count;
	uint64_t listed;             /* bits of the GPUs whose processes are all in `uses` */
	uint64_t took_ns;            /* from request to answer */
	uint64_t cpu_ns, peak_bytes; /* what the helper and its children used so far */
	uint32_t xid_count;
	struct gpu_xid xids[GPU_XIDS_MAX];
	char text[200]; /* GPU_REPORTED: "driver 535.104.05"; else the reason */
	struct gpu_sample gpus[GPUS_MAX];
	struct gpu_use uses[GPU_USES_MAX];
};

/* Empties it for a new answer. */
void gpu_report_begin(struct gpu_report *r);
/* The same, and sets the reason. */
void gpu_report_refuse(struct gpu_report *r, enum gpu_verdict verdict, const char *fmt, ...)
	printf_like(3, 4);
/* The slot of this process on this GPU, a new one if need be; NULL at the ceiling or when that is
 * no pid. */
struct gpu_use *gpu_report_use(struct gpu_report *r, uint32_t gpu, uint64_t pid);

bool gpu_report_encode(const struct gpu_report *r, struct buf *to);
/* -EBADMSG for bytes that encode() does not make; `ret` is undefined then. */
int gpu_report_decode(const void *bytes, size_t n, struct gpu_report *ret, struct err *err)
	must_check;
