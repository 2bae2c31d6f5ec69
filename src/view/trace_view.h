/* SPDX-License-Identifier: MIT */
/* trace_view.h - jobs in the trace event format that Perfetto and chrome://tracing open. A job is a process
 * of the trace with one slice that has its figures, each of its processes a thread of that with one slice; sheets and
 * phases are slices above, marks instants. What the job used over time are counters of it; those of a process that was
 * sampled more than once stand in a process of the trace of their own.
 *
 *	trace_view_begin(&t, &out, &first_job);
 *	trace_view_begin_job(&t, &job, now);  trace_view_sheet(…) …  trace_view_end_job(&t);  … the next job
 *	trace_view_end(&t);
 *
 * `out` may be emptied between calls. Processes come in the order of their starts, samples in the order
 * of time, sheets and phases in any. The slices of one track follow each other, and no process begins before its
 * parent: where what was recorded is too coarse for that, they begin later. A rate (CPU, I/O) stands
 * where its time begins, so that each value times its time adds up to the total. */
#pragma once

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/history_record.h"

#define TRACE_VIEW_LANES_MAX 64

/* Slices that may overlap lie side by side, on tracks of their own. */
struct trace_view_lanes {
	const char *name;
	uint64_t first_tid;
	uint64_t ends[TRACE_VIEW_LANES_MAX]; /* of the last slice of each */
	size_t n;
};

enum trace_view_counter {
	TRACE_CPU,
	TRACE_RSS,
	TRACE_PSS,
	TRACE_READ,
	TRACE_WRITTEN,
	TRACE_GPU_MEMORY,
	TRACE_COUNTERS
};

/* The counters of a process. */
struct trace_view_series {
	uint64_t pid; /* of the trace; 0: it was sampled once only */
	char name[COMM_LEN + 16];
	uint64_t seen_ns, before_ns;  /* the last sample, and the tick before the first one */
	double shown[TRACE_COUNTERS]; /* the last values; NAN: none */
	double first[TRACE_COUNTERS]; /* of the first sample */
	struct figure read, written;
};

struct trace_view {
	struct buf *out;
	struct json json;
	uint64_t base_ns;       /* time 0 */
	uint64_t pid, last_pid; /* of the trace: of the job, and the highest that was given */
	const struct job *job;
	struct job_sum_record sum; /* the last one */
	uint64_t tick_ns;          /* the last samples of processes */
	struct map series;         /* proc_key → index in lives */
	VEC(struct trace_view_series) lives;
	VEC(size_t) alive; /* in lives: those of the last tick, and of this one so far */
	uint64_t end_ns;   /* of what has not ended */
	struct map starts; /* pid → start of its latest life; its track has its name */
	struct map ends;   /* pid → end of it: the next slice of the track begins later */
	struct trace_view_lanes sheets, phases;
};

/* `first`: the job that began first. */
void trace_view_begin(struct trace_view *t, struct buf *out, const struct job *first);
/* `now_ns`: where the slices of what still runs end. */
void trace_view_begin_job(struct trace_view *t, const struct job *job, uint64_t now_ns);
void trace_view_sheet(struct trace_view *t, const struct sheet_record *s);
void trace_view_process(struct trace_view *t, const struct process_record *p);
void trace_view_event(struct trace_view *t,
                      const struct event_record *e); /* marks, phases, signals, OOM */
void trace_view_sum(struct trace_view *t, const struct job_sum_record *s);
void trace_view_gpu_sample(struct trace_view *t, const struct gpu_sample_record *s);
/* The processes of one tick, then its end: those that were not among them are gone. */
void trace_view_process_sample(struct trace_view *t, const struct process_sample_record *s);
void trace_view_end_tick(struct trace_view *t, uint64_t wall_ns);
void trace_view_end_job(struct trace_view *t);
void trace_view_end(struct trace_view *t);
