/* SPDX-License-Identifier: MIT */
/* gpu_link.h - the recorder's end of the GPU helper: starts it, asks, takes the answers, and ends
 * what hangs. Nothing here waits, but for `grace_ns` for an answer that usually comes at once. A
 * helper that fails is started again after a pause that grows; one that hangs where even SIGKILL
 * does not reach it (in the driver) is not joined by a second one. */
#pragma once

#include "probe/gpu/gpu_report.h"

struct gpu_link_options {
	const char *program;    /* started as the helper; it handles GPU_HELPER_VERB */
	const char *source;     /* gpu_source_nvml or gpu_source_smi */
	uint64_t start_ns;      /* how long the first answer of a helper may take */
	uint64_t rpc_answer_ns; /* and every other */
	uint64_t gap_ns;        /* between two questions at least */
	uint64_t grace_ns;      /* waited for an answer, when the last one came as quickly */
	uint64_t retry_ns;      /* the first pause after a failure */
	unsigned tries;         /* failures in a row until nothing is expected any more */
};

enum gpu_link_state {
	GPU_LINK_QUIET,   /* no answer yet */
	GPU_LINK_WORKS,   /* the last answer is good */
	GPU_LINK_FAILING, /* no answer now; it is tried again */
	GPU_LINK_GAVE_UP, /* the same, and little hope is left */
};

struct gpu_link;

struct gpu_link *gpu_link_new(const struct gpu_link_options *o);
void gpu_link_free(struct gpu_link *l); /* NULL is fine; the helper is killed */
/* One turn: takes what came, ends what hangs, starts what is missing, asks the next question. */
void gpu_link_turn(struct gpu_link *l, uint64_t now_ns); /* monotonic */
/* Waits until something happens, at most that long. */
void gpu_link_wait(const struct gpu_link *l, uint64_t ns);

enum gpu_link_state gpu_link_state(const struct gpu_link *l);
const char *gpu_link_reason(const struct gpu_link *l); /* of the last failure */
/* The last good answer and when it came; NULL: there was none. */
const struct gpu_report *gpu_link_last(const struct gpu_link *l, uint64_t *ret_ns);
unsigned gpu_link_failures(const struct gpu_link *l); /* of all its life */
pid_t gpu_link_pid(const struct gpu_link *l);         /* of the helper's keeper, 0: none */
/* Whether that is the keeper, or was before the last turn: a scan just before may have seen it. */
bool gpu_link_owns(const struct gpu_link *l, pid_t pid);
/* CPU time of all helpers so far, and the memory the present one took at most. */
uint64_t gpu_link_cpu_ns(const struct gpu_link *l);
uint64_t gpu_link_peak_bytes(const struct gpu_link *l);
