/* SPDX-License-Identifier: MIT */
/* gpu_link.h - the recorder's end of the GPU helper: starts it, asks, takes the answers, and ends
 * what hangs. Nothing here waits, but for `grace_ns` for an answer that usually comes at once. A
 * helper that fails is started again after a pause that grows; one that hangs where even SIGKILL
 * does not reach it (in the driver) is not joined by a second one. */
#pragma once

#include "probe/gpu/gpu_report.h"
#include "probe/gpu/gpu_child.h"

struct gpu_link_options {
	const char *program; /* started as the helper; it handles GPU_HELPER_VERB */
	const char *source;  /* gpu_source_nvml or gpu_source_smi */
	uint64_t start_ns;   /* how long the first answer of a helper may take */
	uint64_t answer_ns;  /* and every other */
	uint64_t gap_ns;     /* between two requests at least */
	uint64_t grace_ns;   /* waited for an answer, when the last one came as quickly */
	uint64_t retry_ns;   /* the first pause after a failure */
	unsigned tries;      /* failures in a row until nothing is expected any more */
};

enum gpu_link_state {
	GPU_LINK_QUIET,   /* no answer yet */
	GPU_LINK_WORKS,   /* the last answer is good */
	GPU_LINK_FAILING, /* no answer now; it is tried again */
	GPU_LINK_GAVE_UP, /* the same, and little hope is left */
};

struct gpu_link {
	struct gpu_link_options options;
	struct gpu_child child;
	bool is_ending;    /* killed, not yet dead */
	bool is_closed;    /* its socket is; its keeper reports in a moment how it ended */
	bool is_awaiting;  /* a request is open */
	bool has_answered; /* this helper, once */
	uint64_t asked_ns, took_ns, retry_at_ns, closed_ns;
	unsigned failures, failures_in_row; /* of all its life; since the last good answer */
	bool is_hopeless;
	char reason[240];            /* of the last failure */
	uint64_t past_cpu_ns;        /* of helpers that are gone */
	uint64_t cpu_ns, peak_bytes; /* of the present one */
	bool has_report;
	uint32_t
		xid_count; /* errors of all answers until they are taken: two may come in one turn */
	struct gpu_xid xids[GPU_XIDS_MAX]; /* … by the index of the GPU */
	uint64_t answered_ns;              /* when the last good answer came */
	struct gpu_report report;          /* and what it was */
	struct gpu_report incoming;        /* the one that is being decoded */
	char bytes[sizeof(struct gpu_report)];
};

struct gpu_link *gpu_link_new(const struct gpu_link_options *o);
void gpu_link_free(struct gpu_link *l); /* NULL is fine; the helper is killed */
/* One turn: takes what came, ends what hangs, starts what is missing, sends the next request. */
void gpu_link_turn(struct gpu_link *l, uint64_t now_ns); /* monotonic */
/* Waits until something happens, at most that long. */
void gpu_link_wait(const struct gpu_link *l, uint64_t ns);
enum gpu_link_state gpu_link_state(const struct gpu_link *l);
