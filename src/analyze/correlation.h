/* SPDX-License-Identifier: MIT */
/* correlation.h - which properties of jobs go with failure. Jobs of one type form a group and are compared only with
 * each other. All properties of all groups are judged together: if failures are independent of all of them, at most
 * 5 % of data sets yield any finding, however many properties there are and however they depend on each other.
 *
 * For each property the statistic is a mean of likelihood ratios "the failure rate differs" : "it does not" over all
 * ways to differ: above and below a limit (every limit), within and outside a range (every range), and a trend of the
 * ranks. Its distribution comes from exchanging the outcomes of jobs of a group at random (Westfall and Young, step-down
 * maxT), which keeps the properties of a job together. docs/learning.md has the measured power and calibration. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rate_test.h"
#include "base/vec.h"

#define CORRELATION_JOBS_MAX 2000     /* of a group */
#define CORRELATION_FEATURES_MAX 64   /* of a group */
#define CORRELATION_TESTS_MAX 4096    /* properties of all groups */
#define CORRELATION_PERMUTATIONS 1999 /* q is a multiple of 1 / 2000 */
#define CORRELATION_LEVEL                                                                          \
	0.04 /* of q: 5 % is promised, and simulations must not exceed it by chance */
#define CORRELATION_NEXT_LEVEL                                                                     \
	0.01 /* … for further properties of a group: most often they repeat the first */
#define CORRELATION_GATE 0.6 /* findings need more confidence than this */

/* Properties of the jobs of one type. A property that is not known of a job is NAN: that job is left out where
 * this property is judged. Yes and no are 1 and 0. */
struct correlation_group {
	size_t jobs, features;
	const bool *failed;  /* [jobs] */
	const double *value; /* [features][jobs] */
};

/* The failure rate within (from, to] differs from that outside. One end may be infinite; then `inside` has the
 * higher rate. */
struct correlation_finding {
	size_t group, feature;
	double from, to;
	struct rate inside, outside;
	double p;                      /* of this property alone: Fisher's if it has two values */
	double q;                      /* of all of them together */
	double confidence;             /* that the difference is there in jobs to come */
	struct rate_interval interval; /* of the difference of the rates, inside − outside */
};

struct correlation_findings {
	VEC(struct correlation_finding) list; /* the strongest first */
	size_t tests;                         /* properties that could be judged */
};

/* The same arguments give the same findings. Groups and features beyond the bounds above are ignored. False: `cancel`
 * (NULL: none) was set meanwhile, and nothing was found. */
bool correlation_find(const struct correlation_group *groups, size_t n, uint64_t seed,
                      const atomic_bool *cancel, struct correlation_findings *ret);
void correlation_findings_done(struct correlation_findings *f);
