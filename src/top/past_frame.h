/* SPDX-License-Identifier: MIT */
/* past_frame.h - recorded snapshots and events as a frame. */
#pragma once

#include "view/frame.h"

struct past;

/* The kinds to read: ends, signals and what recorders noticed. */
#define PAST_EVENT_KINDS                                                                           \
	(UINT64_C(1) << EVENT_EXIT | UINT64_C(1) << EVENT_KILL | UINT64_C(1) << EVENT_OOM |        \
	 UINT64_C(1) << EVENT_ANOMALY | UINT64_C(1) << EVENT_LIMIT | UINT64_C(1) << EVENT_DISK |   \
	 UINT64_C(1) << EVENT_GPU | UINT64_C(1) << EVENT_MARK | UINT64_C(1) << EVENT_PHASE |       \
	 UINT64_C(1) << EVENT_GAP)

/* A job and its sheets as they were at that time; 0: at the end. */
void past_frame_add_job(struct past *p, struct job_key key, uint64_t now_ns, struct frame *to);
/* Fills the frame from the snapshot that was read last. */
void past_frame_fill(struct past *p, struct frame *ret);
