/* SPDX-License-Identifier: MIT */
/* diff_change.h - what a reader wants to know of two figures first: whether they differ at all, by how much, and
 * which sheet or program is mostly to blame. */
#pragma once

#include "report/diff_report.h"

/* Smaller differences are noise: 5 %, or 10 % where a figure was sampled. A larger share of less than 20 ms or
 * 1 MiB proves nothing either. */
#define DIFF_NOISE_RATIO 0.05
#define DIFF_NOISE_SAMPLED_RATIO 0.10

enum diff_direction {
	DIFF_UNKNOWN, /* one is missing, or the bounds do not decide it */
	DIFF_UNCHANGED,
	DIFF_TOO_SMALL, /* they differ, by so little that it may be noise */
	DIFF_MORE,
	DIFF_LESS,
};

struct diff_change {
	enum diff_direction direction;
	double factor;         /* at least 1; INFINITY: from or to 0 */
	enum diff_bound bound; /* of the factor: DIFF_EXACT, DIFF_AT_LEAST or DIFF_ROUGH */
};

struct diff_change diff_change(struct diff_pair pair, enum metric_unit unit);
/* The sheet that makes up most of the change in wall time, and the program of that in CPU time, by its name;
 * 0 and NULL: none does. */
uint32_t diff_main_sheet(const struct diff *d, struct diff_pair took);
const char *diff_main_program(const struct diff *d, struct diff_pair cpu);
