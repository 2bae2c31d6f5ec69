/* SPDX-License-Identifier: MIT */
/* run_view.h - the block that `proctor run` ends with: what became of the job and what it took, in
 * a few lines, and the way to more. */
#pragma once

#include "model/job.h"
#include "view/run_anomalies.h"
#include "view/canvas.h"

/* What was kept of it. */
struct run_record {
	bool is_stored;        /* what became of it can be asked for */
	const char *trouble;   /* why all or a part of it was not stored; NULL: all was */
	uint64_t events_lost;  /* of its processes, with that */
	const char *state_dir; /* to be named when asking for it; NULL: it is found without */
	const struct run_anomalies *notes; /* NULL: none */
};

/* `cpus`: how many the machine has; 0: not known. */
void run_view(const struct job *job, const struct run_record *record, unsigned cpus,
              struct canvas *to);
