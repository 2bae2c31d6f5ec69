/* SPDX-License-Identifier: MIT */
/* gpu_events.h - what happens to GPUs: that one is lost or answers again, throttling that begins and ends, memory
 * errors that were counted, and critical errors (XID). What the driver reports at each tick becomes events that a person can read: a GPU at its
 * power limit may pass it several times a second. Pure. */
#pragma once

#include "model/sample.h"

/* The remembered state of one GPU. */
struct gpu_history {
	uint32_t index;
	bool is_part;
	char name[GPU_TEXT_MAX];
	bool has_answered, is_lost;
	uint64_t lost_ns; /* since when */
	uint64_t fed_ns;  /* when it was listed last */
	bool is_throttled;
	uint32_t reasons; /* of this episode */
	uint64_t began_ns, seen_ns;
	bool has_corrected, has_uncorrected;
	uint64_t corrected, uncorrected; /* as of the last event */
	uint64_t reported_ns;            /* when that was; 0: never */
};

struct gpu_events {
	size_t count;
	struct gpu_history at[GPUS_MAX];
};

/* Once for each GPU and tick, with what it reports now. */
void gpu_events_feed(struct gpu_events *e, const struct gpu_sample *gpu, struct sample *out);
/* After all of a fresh answer: a GPU that is not listed any more is lost, too. */
void gpu_events_end_tick(struct gpu_events *e, struct sample *out);
/* Adds the event of a critical error. */
void gpu_events_xid(const struct gpu_sample *gpu, uint32_t code, struct sample *out);
