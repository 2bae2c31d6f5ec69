/* SPDX-License-Identifier: MIT */
/* past.h - what was recorded, as frames: the moments at which there is a snapshot, and the frame of one of them. */
#pragma once

#include "history/history.h"
#include "model/snapshot_scope.h"
#include "top/past_frame.h"
#include "top/top_options.h"
#include "view/top_state.h"

struct past_sum {
	uint64_t wall_ns;
	double cpu_ratio, used_bytes, io_bps; /* NAN: not known */
	double io_bytes;                      /* since its beginning */
};

struct past_anomaly {
	uint64_t began_ns, ended_ns; /* ended 0: not yet */
	struct proc_id process;
	enum severity severity;
	char *what; /* owned */
};

/* The record of a job by its own recorder: another one that watched the machine may lack it. */
struct past_job {
	char id[JOB_ID_MAX];
	uint32_t uid;
	struct map sheets; /* its processes: proc_key → sheet */
	VEC(struct past_sum) sums; /* oldest first */
	VEC(struct past_anomaly) anomalies;
};

struct past {
	struct history *history;
	struct job_key only; /* the job that alone is shown; id NULL: all are */
	struct snapshot snap;
	struct history_moments moments;
	VEC(struct past_job *) jobs; /* those that were looked at */
	size_t at;                   /* the moment that is shown */
	uint64_t
		now_ns; /* … its time, or that of an event after which nothing was recorded for a while */
	struct frame log; /* all jobs and sheets, and what happened, in the order of time */
};

/* Whether the event is of that job; id NULL: of any. */
bool past_has_event(struct job_key only, const struct event_record *e);
/* The part of a snapshot about one job. */
struct snapshot_scope past_scope(const struct job_key *job);

/* Opens the store, and the job, that the options name. */
int past_open(struct past *p, const struct top_options *o, struct err *err) must_check;
void past_close(struct past *p);
/* Reads which moments there are since then, up to now. -ENOENT: none. */
int past_load(struct past *p, uint64_t since_ns, struct err *err) must_check;
/* The frame of p->at. */
int past_read_frame(struct past *p, struct frame *ret, struct err *err) must_check;
/* Read once; NULL: it cannot be. */
const struct past_job *past_find_job(struct past *p, struct job_key key);
/* Its sum at that time: the last one before it, a few seconds old at most. NULL: none. */
const struct past_sum *past_sum_at(const struct past_job *job, uint64_t wall_ns);
/* Go to another moment; false: there is none. */
bool past_step(struct past *p, long by);
bool past_goto(struct past *p, uint64_t wall_ns);
bool past_peak(struct past *p, bool of_cpu);
/* The event that was gone to; NULL: there is none. */
const struct frame_event *past_trouble(struct past *p, bool is_back);
/* The history of the machine up to the shown moment, for the graphs. */
void past_trail(const struct past *p, struct top_state *s);
/* … and of the selected row. */
void past_trail_of_row(struct past *p, const struct frame *f, struct top_state *s);
/* "12 of 3,600" */
void past_place(const struct past *p, char *ret, size_t cap);

/* For --history --once: the latest moment. */
int past_first_frame(const struct top_options *o, struct top_state *s, struct frame *ret,
                     struct err *err) must_check;
