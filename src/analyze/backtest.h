/* SPDX-License-Identifier: MIT */
/* backtest.h - replays a history of runs in time order and counts what requests for memory would have wasted: ours, those in
 * the history (presets), and those of simple rules. Each run is predicted from earlier ones only. docs/learning.md has the
 * cost model. Memory grows with the number of types, up to BACKTEST_TYPES_MAX, and not with the number of runs. */
#pragma once

#include "analyze/peak_baselines.h"
#include "analyze/peak_estimator.h"
#include "base/map.h"
#include "model/past_run.h"

#define BACKTEST_TYPES_MAX 10000
/* Without a request in the history the first run of a type is given this much. */
#define BACKTEST_FIRST_BYTES 4e9

enum backtest_rule {
	BACKTEST_OURS,
	BACKTEST_PRESETS, /* "requested": rows without one count as their first run does */
	BACKTEST_BASELINES,
	BACKTEST_RULES = BACKTEST_BASELINES + BASELINE_COUNT
};
const char *backtest_rule_name(unsigned rule);

struct backtest_score {
	double waste;    /* byte seconds */
	uint64_t failed; /* attempts */
};

struct backtest_sums {
	uint64_t runs;
	uint64_t bounded, covered; /* runs with an upper bound, and those that stayed below it */
	struct backtest_score rules[BACKTEST_RULES];
};

struct backtest_type {
	char type[JOB_ID_MAX];
	uint32_t sheet;
	enum run_basis basis;
	struct backtest_sums sums;
	struct peak_estimator estimator;
	struct peak_baselines baselines;
};

/* Initialised by backtest_init. */
struct backtest {
	struct peak_experience experience;
	struct backtest_sums total;
	VEC(struct backtest_type *) types; /* in the order of their first run */
	struct map by_key;
	uint64_t last_started_ns;
	uint64_t dropped;  /* runs of more types than there is room for */
	uint64_t unsorted; /* runs that started before the one before them */
};

void backtest_init(struct backtest *b, enum peak_policy policy);
void backtest_add(struct backtest *b, const struct past_run *run);
void backtest_done(struct backtest *b);
/* NULL: no run of it was added. */
const struct backtest_type *backtest_find(const struct backtest *b, const char *type,
                                          uint32_t sheet, enum run_basis basis);

double backtest_gbh(double byte_seconds);                                 /* GB are 10^9 bytes */
double backtest_failed_pct(const struct backtest_sums *s, unsigned rule); /* per 100 runs */
double backtest_coverage_pct(const struct backtest_sums *s); /* NAN: no run had a bound */
