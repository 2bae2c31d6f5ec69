/* SPDX-License-Identifier: MIT */
/* run_curves.h - what a job used over time, for charts: a point for each time between two samples, or of a long job for each
 * stretch of time with the least and the most in it; and the band in which earlier runs of its type were. Pure,
 * but for the gathering. */
#pragma once

#include "base/vec.h"
#include "report/report.h"

/* X(id, title, unit): curves of one chart have one unit. */
#define RUN_CHARTS(X)                                                                              \
	X(MEMORY, "Memory", "bytes")                                                               \
	X(CPU, "CPU", "cores")                                                                     \
	X(IO, "Storage", "bytes/s")                                                                \
	X(GPU, "GPU load", "%")                                                                    \
	X(GPU_MEMORY, "GPU memory", "bytes")                                                       \
	X(PROCESSES, "Processes", "")

/* X(id, key, label, chart) */
#define RUN_CURVES(X)                                                                              \
	X(USED, "used", "used", MEMORY)                                                            \
	X(CHARGED, "charged", "charged, page cache included", MEMORY)                              \
	X(CPU, "cpu", "busy", CPU)                                                                 \
	X(READ, "read", "read", IO)                                                                \
	X(WRITTEN, "written", "written", IO)                                                       \
	X(GPU_OWN, "gpu_own", "this job", GPU)                                                     \
	X(GPU_ALL, "gpu_all", "all that run there", GPU)                                           \
	X(GPU_MEMORY_OWN, "gpu_memory_own", "this job", GPU_MEMORY)                                \
	X(GPU_MEMORY_ALL, "gpu_memory_all", "all that run there", GPU_MEMORY)                      \
	X(PROCESSES, "processes", "alive", PROCESSES)

#define X(id, ...) RUN_CHART_##id,
enum run_chart { RUN_CHARTS(X) RUN_CHART_COUNT };
#undef X
#define X(id, ...) RUN_CURVE_##id,
enum run_curve { RUN_CURVES(X) RUN_CURVE_COUNT };
#undef X

struct run_chart_info {
	const char *title, *unit;
};
struct run_curve_info {
	const char *key, *label;
	enum run_chart chart;
};
extern const struct run_chart_info run_charts[RUN_CHART_COUNT];
extern const struct run_curve_info run_curves[RUN_CURVE_COUNT];

#define RUN_CURVE_POINTS 1000 /* more are joined to so many stretches of time */

/* NAN: not known. */
struct run_curve_value {
	double mean, low, high;
};
struct run_curve_point {
	double at_s; /* since the job began; it holds until the next one */
	struct run_curve_value values[RUN_CURVE_COUNT];
};

/* Initialised with zeros. */
struct run_curve_set {
	/* None of less than two samples. Where nothing was recorded for a while, one without values. */
	VEC(struct run_curve_point) points;
	bool is_joined; /* points are stretches of time: low and high differ */
	bool has[RUN_CURVE_COUNT]; /* any value is known */
};

/* From the samples of the report; `took_ns` is how long the job took so far. */
void run_curve_set_make(const struct report *r, uint64_t took_ns, struct run_curve_set *ret);
void run_curve_set_done(struct run_curve_set *set);

#define RUN_BAND_POINTS 200
#define RUN_BAND_RUNS 20

/* The least and the most that earlier runs used, so long after their start; NAN: not known. */
struct run_band {
	size_t runs;
	double step_s; /* of each part */
	struct {
		double low, high;
	} at[RUN_BAND_POINTS][RUN_CURVE_COUNT];
};

void run_band_begin(struct run_band *band, uint64_t took_ns);
void run_band_add(struct run_band *band, const struct run_curve_set *run, double took_s);
/* The band of the latest successful runs before it, of the same type and user. 0 or -errno. */
int run_band_gather(struct history *history, const struct job *job, uint64_t took_ns,
                    struct run_band *ret, struct err *err) must_check;
