/* SPDX-License-Identifier: MIT */
/* past_frame.h - recorded snapshots and events as a frame. */
#pragma once

#include "model/history_record.h"
#include "view/frame.h"

struct past;

/* One that is shown on the timeline. */
struct past_event {
	uint64_t wall_ns;
	char kind[12];
	char *job, *what; /* owned */
	uint32_t job_uid; /* the job's user, or FRAME_ANY_UID */
	enum severity severity;
	pid_t pid;
	bool is_trouble; /* an anomaly, a death: somewhere to go */
};

/* The kinds to read: ends, signals and what recorders noticed. */
#define PAST_EVENT_KINDS                                                                           \
	(UINT64_C(1) << EVENT_EXIT | UINT64_C(1) << EVENT_KILL | UINT64_C(1) << EVENT_OOM |        \
	 UINT64_C(1) << EVENT_ANOMALY | UINT64_C(1) << EVENT_LIMIT | UINT64_C(1) << EVENT_DISK |   \
	 UINT64_C(1) << EVENT_GPU | UINT64_C(1) << EVENT_MARK | UINT64_C(1) << EVENT_PHASE |       \
	 UINT64_C(1) << EVENT_GAP)

/* Whether it is worth a line: ends that went well are not, nor those outside of jobs. */
bool past_event_matters(const struct event_record *e);
struct past_event past_event_of(const struct event_record *e);
struct past_event past_event_of_job(const struct job *job); /* its end */
void past_event_done(struct past_event *e);

/* Of the snapshot that was read last. */
void past_frame_fill(struct past *p, struct frame *ret);
