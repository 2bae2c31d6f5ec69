/* SPDX-License-Identifier: MIT */
/* peak_baselines.h - the simple rules that our estimates are compared with. Each predicts the next peak of a type from
 * all earlier ones; percentiles from the latest BASELINE_WINDOW. */
#pragma once

#include "analyze/peak_stats.h"
#include "base/vec.h"

#define BASELINE_WINDOW 4096
#define BASELINE_HULL_MAX 512

#define PEAK_BASELINES(X)                                                                          \
	X(P95, "p95")                                                                              \
	X(P99, "p99")                                                                              \
	X(MAX, "max")                                                                              \
	X(MAX_MARGIN, "max_x1.1")                                                                  \
	X(MEAN_3SD, "mean_3sd")                                                                    \
	X(LINEAR, "linear_max_residual")                                                           \
	X(LEADER, "follow_the_leader") /* of the first five, the one that wasted least */          \
	X(LEADER_INPUT, "follow_the_leader_input") /* … of the first six */

#define X(id, ...) BASELINE_##id,
enum peak_baseline { PEAK_BASELINES(X) BASELINE_COUNT };
#undef X
const char *peak_baseline_name(enum peak_baseline baseline);

struct hull_point {
	double x, y;
};

/* Initialised with zeros. */
struct peak_baselines {
	uint64_t n;
	double largest, mean, squares;
	VEC(double) sorted, ring; /* of the latest peaks */
	struct pair_sums line;
	VEC(struct hull_point)
		hull; /* the upper convex hull: the largest residual of any line is at one of them */
	double waste[BASELINE_COUNT];
};

/* In bytes. At least one run must have been learned. */
void peak_baselines_predict(const struct peak_baselines *b, double input_bytes,
                            double ret[static BASELINE_COUNT]);
/* `waste`: what each of these predictions cost; NULL for the first run. */
void peak_baselines_learn(struct peak_baselines *b, double input_bytes, double peak_bytes,
                          const double waste[BASELINE_COUNT]);
void peak_baselines_done(struct peak_baselines *b);
