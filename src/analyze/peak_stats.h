/* SPDX-License-Identifier: MIT */
/* peak_stats.h - what is remembered of the peaks of one job type, and the *centers* that predict the next one from it:
 * the largest peak so far, a mean, a line on the size of the input, … The memory does not grow with the number
 * of runs: sums, and the latest PEAK_WINDOW runs. Pure: no I/O, no clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PEAK_WINDOW 256

/* A center is a prediction without a margin. Those from CENTER_LINE on need the size of the input. */
#define PEAK_CENTERS(X)                                                                            \
	X(LARGEST, "largest", "the largest peak so far")                                           \
	X(MEAN, "mean", "the mean of all peaks")                                                   \
	X(SMOOTHED, "smoothed", "an exponentially weighted mean, weight 0.3")                      \
	X(RECENT, "recent", "the largest of the latest 8 peaks")                                   \
	X(SPREAD, "spread", "the mean and three standard deviations")                              \
	X(UPPER, "upper", "the 90th percentile of the latest 256 peaks")                           \
	X(TREND, "trend", "a level and a trend, both smoothed")                                    \
	X(LINE, "line", "a straight line on the size of the input")                                \
	X(POWER, "power", "a power of the size of the input")                                      \
	X(NEAREST, "nearest", "the largest of the 5 runs with the most similar input")             \
	X(LINE_SPREAD, "line+spread", "the line and two standard deviations of its residuals")     \
	X(POWER_SPREAD, "power+spread", "the power and two standard deviations of its residuals")  \
	X(REQUESTED, "requested", "what was requested for this run")

#define X(id, ...) CENTER_##id,
enum peak_center { PEAK_CENTERS(X) CENTER_COUNT };
#undef X
const char *peak_center_name(enum peak_center center);

/* Mean and variation of pairs, without loss of precision for large sums (Welford). */
struct pair_sums {
	double n, mean_x, mean_y, xx, xy;
};
void peak_pair_sums_add(struct pair_sums *s, double x, double y);

struct peak_stats {
	uint64_t n;
	double largest, mean, squares; /* squares: of deviations from the mean */
	double smoothed, level, trend;
	double largest_input;         /* 0: none was known */
	struct pair_sums line, power; /* of the runs with an input; `power` of logarithms */
	double line_squares, power_squares, n_residuals;
	uint32_t n_window;            /* at most PEAK_WINDOW; the oldest is at n % PEAK_WINDOW */
	float peak[PEAK_WINDOW];      /* in the order of the runs */
	float log_input[PEAK_WINDOW]; /* NAN: not known */
	float sorted[PEAK_WINDOW];    /* the same peaks */
};

/* The facts about a run that are known before it starts. */
struct peak_query {
	double input_bytes;     /* 0: not known */
	double requested_bytes; /* 0: not known */
};

/* Centers in bytes; 0: this one cannot be computed. At least one run must have been learned. */
void peak_stats_centers(const struct peak_stats *s, const struct peak_query *query,
                        double ret[static CENTER_COUNT]);
/* `centers`: of the same run, as they were computed before; NULL for the first one. */
void peak_stats_learn(struct peak_stats *s, const struct peak_query *query,
                      const double centers[CENTER_COUNT], double peak_bytes);
