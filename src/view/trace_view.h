/* SPDX-License-Identifier: MIT */
/* trace_view.h - a job in the trace event format that Perfetto and chrome://tracing open: the job
 *is a process of the trace, each of its processes a thread with one slice, memory and CPU are
 *counters, sheets and phases slices above, marks instants.
 *
 *	trace_begin(&t, &out, &job);  trace_sheet(…) …  trace_end(&t);
 *
 * `out` may be emptied between calls. Processes come in the order of their starts, sheets and
 * phases in any. The slices of one track follow each other, and no process begins before its
 * parent: where what was recorded is too coarse for that, they begin later. */
#pragma once

#include "base/json.h"
#include "base/map.h"
#include "model/history_record.h"

#define TRACE_LANES_MAX 64

/* Slices that may overlap lie side by side, on tracks of their own. */
struct trace_lanes {
	const char *name;
	uint64_t first_tid;
	uint64_t ends[TRACE_LANES_MAX]; /* of the last slice of each */
	size_t n;
};

struct trace {
	struct buf *out;
	struct json json;
	const struct job *job;
	uint64_t end_ns;   /* of what has not ended */
	struct map starts; /* pid → start of its latest life; its track has its name */
	struct map ends;   /* pid → end of it: the next slice of the track begins later */
	struct trace_lanes sheets, phases;
};

/* `now_ns`: where the slices of what still runs end. */
void trace_begin(struct trace *t, struct buf *out, const struct job *job, uint64_t now_ns);
void trace_sheet(struct trace *t, const struct sheet_record *s);
void trace_process(struct trace *t, const struct process_record *p);
void trace_event(struct trace *t, const struct event_record *e); /* marks, phases, signals, OOM */
void trace_sum(struct trace *t, const struct job_sum_record *s);
void trace_end(struct trace *t);
