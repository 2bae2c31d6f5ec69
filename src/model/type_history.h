/* SPDX-License-Identifier: MIT */
/* type_history.h - what the earlier runs of a job's type used, as far as anomalies are judged by it. Bounded: sums, no
 * list of runs. The host of a job loads it once, after the job has started. */
#pragma once

#include "model/job.h"

#define TYPE_HISTORY_RUNS 64 /* the newest that went well */
#define TYPE_HISTORY_LEAST 5 /* fewer are no basis */

/* X(id, figure of the job; COUNT: the time it took) */
#define PAST_FIGURES(X)                                                                            \
	X(USED, JOB_FIGURE_PEAK_USED)                                                              \
	X(LARGEST, JOB_FIGURE_PEAK_RSS) /* its largest process */                                  \
	X(CPU, JOB_FIGURE_CPU)                                                                     \
	X(PROCESSES, JOB_FIGURE_PROCESSES)                                                         \
	X(TOOK, JOB_FIGURE_COUNT)

#define X(id, figure) PAST_##id,
enum past_figure { PAST_FIGURES(X) PAST_FIGURE_COUNT };
#undef X

/* One figure in all runs that have it. */
struct type_range {
	uint32_t n;
	double most;
	double log_sum, log_squares; /* of the natural logarithms */
};

struct type_history {
	struct type_range of[PAST_FIGURE_COUNT];
};

/* One more run. Those that did not go well, or are beyond TYPE_HISTORY_RUNS, are left out. */
void type_history_add(struct type_history *h, const struct job *job);
/* The largest value that is no surprise: 1.1 times the largest of the earlier runs, or the bound below which 98 % of
 * runs are, if they vary so much that this is more. 0: there are too few runs, or no history at all (NULL). */
double type_history_bound(const struct type_history *h, enum past_figure figure);
