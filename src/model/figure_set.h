/* SPDX-License-Identifier: MIT */
/* figure_set.h - one figure of several jobs: its median and other percentiles. Missing figures are counted and left
 * out. Lower bounds among exact figures leave a percentile as it is where their true values cannot move it. */
#pragma once

#include "base/vec.h"
#include "model/metric.h"

#define FIGURE_SET_MAX ((size_t)1 << 20)

struct figure_set {
	VEC(struct figure) known;
	uint64_t missing;
};

void figure_set_add(struct figure_set *s, struct figure figure);
/* The value that so many percent of them do not exceed (nearest rank; 100: the largest). Missing if there is
 * none, and sampled at best if some are missing. */
struct figure figure_set_percentile(const struct figure_set *s, unsigned percent);
/* The median; of an even number of figures, the mean of the two in the middle. */
struct figure figure_set_median(const struct figure_set *s);
void figure_set_done(struct figure_set *s);
