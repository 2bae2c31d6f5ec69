/* SPDX-License-Identifier: MIT */
/* peak_estimator.h - how much memory to request for the next run of a job type. Rules compete: each is a center of
 * peak_stats.h times a fixed margin, and the one that would have wasted least so far is used, or a mean of the best.
 * What other types taught (struct peak_experience) decides while a type has few runs. docs/learning.md explains the rules and shows how well they
 * do. Online, in memory that does not grow with the number of runs. Pure: no I/O, no clock. */
#pragma once

#include "analyze/peak_stats.h"

#define PEAK_MARGINS 28

enum peak_policy {
	PEAK_LOW_WASTE,   /* the least memory times time that is requested and not used */
	PEAK_LOW_FAILURE, /* the same, with at most 0.9 % of attempts that run out of memory */
};

/* The cost that an allocation of `bytes` would have had, in byte seconds: an attempt that fails
 * costs all of it, the last one what was not used. The next attempt has the largest peak seen
 * before, or else twice as much. */
double peak_estimator_cost(double bytes, double peak_bytes, double seconds, double largest_bytes,
                           unsigned *ret_failed);

enum { PEAK_STAGES = 5 }; /* types with 1, 2 to 3, 4 to 9, 10 to 29, and more runs */

/* The cost of a rule, and how often its requests failed. */
struct rule_record {
	double cost, failed;
};

/* Shared by all types. */
struct peak_experience {
	enum peak_policy policy;
	double runs[PEAK_STAGES], held[PEAK_STAGES], tried[PEAK_STAGES];
	struct rule_record rules[PEAK_STAGES][CENTER_COUNT]
				[PEAK_MARGINS]; /* relative to peak × time */
	double bound_width[PEAK_STAGES];        /* standard deviations to the 95 % bound */
	double seen, failed, work; /* attempts that were predicted; byte seconds used */
};
void peak_experience_init(struct peak_experience *e, enum peak_policy policy);

struct ratio_sums {
	double n, sum, squares;
};

/* Initialised with zeros. */
struct peak_estimator {
	struct peak_stats stats;
	struct rule_record rules[CENTER_COUNT][PEAK_MARGINS]; /* byte seconds */
	double work, seconds;                                 /* sums */
	struct ratio_sums
		ratio[CENTER_COUNT]; /* of logarithms of peak / center, the latest weigh most */
	double bound_offset;
	double tried, held; /* predictions, and those that were enough */
};

struct peak_prediction {
	double bytes;       /* to request */
	double upper_bytes; /* 95 % of runs stay below */
	double confidence;  /* that `bytes` is enough */
	enum peak_center center; /* of the best rule, and its margin */
	double margin;
	double centers[CENTER_COUNT];
};

/* False: there was no run yet. */
bool peak_estimator_predict(const struct peak_estimator *t, const struct peak_experience *e,
                            const struct peak_query *query, struct peak_prediction *ret);
/* The expected peak of the run with these centers, as likely too much as too little: the center
 * that predicted best. */
double peak_estimator_expected(const struct peak_estimator *t,
                               const double centers[static CENTER_COUNT]);
/* `prediction`: for this run, from before; NULL if there was none. */
void peak_estimator_learn(struct peak_estimator *t, struct peak_experience *e,
                          const struct peak_query *query, const struct peak_prediction *prediction,
                          double peak_bytes, double seconds);
