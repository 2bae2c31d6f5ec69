/* SPDX-License-Identifier: MIT */
/* run_view.h - the block that `proctor run` ends with: what became of the job and what it took, in
 * a few lines, and the way to more. */
#pragma once

#include "model/anomaly.h"
#include "model/job.h"
#include "report/next_request.h"
#include "view/canvas.h"

#define RUN_ANOMALIES 3

/* The anomalies that are worth a line: the most severe, then the first. Those of one kind and program are
 * one. */
struct run_anomalies {
	struct anomaly worst[RUN_ANOMALIES];
	uint64_t alike[RUN_ANOMALIES]; /* more of the same kind and program */
	size_t n;
	uint64_t more; /* those that have no place */
};

/* Takes those that have ended, if they are severe enough. */
void run_anomalies_add(struct run_anomalies *notes, const struct anomaly *a);

/* The recording that was kept. */
struct run_record {
	bool is_stored;        /* what became of it can be asked for */
	const char *trouble;   /* why all or a part of it was not stored; NULL: all was */
	uint64_t events_lost;  /* of its processes, with that */
	const char *state_dir; /* to be named when asking for it; NULL: it is found without */
	const char *side_path; /* the database it is in until it can be imported; NULL: the store.
	                          Without a state_dir, no verb finds it before that */
	const struct run_anomalies *notes; /* NULL: none */
	const char *
		why; /* it failed: the cause in one line (verdict_view_line); NULL: only its own end is known */
	const struct next_request *next; /* NULL: not known */
	pid_t watched_pid;       /* of a process that ran before; 0: it was started by us */
	uint64_t watched_age_ns; /* … for so long */
};

/* `cpus`: how many the machine has; 0: not known. */
void run_view(const struct job *job, const struct run_record *record, unsigned cpus,
              struct canvas *to);
