/* SPDX-License-Identifier: MIT */
/* split_statistic.h - how strongly failures depend on one property of jobs, as one number: the logarithm of a mean of
 * likelihood ratios. correlation.c compares it with what it would be by chance. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rate_test.h"

#define SPLIT_BINS 24 /* limits are tried between so many parts of about equal size */

/* One property, ready to be judged. */
struct split_table {
	size_t jobs;
	unsigned bins;            /* less than 2: all jobs are alike */
	unsigned known;           /* jobs whose value is known */
	unsigned end[SPLIT_BINS]; /* jobs in this part and those below it */
	double upper[SPLIT_BINS]; /* the limit between this part and the next */
	unsigned char *bin;       /* [jobs]; SPLIT_BINS: not known */
	double *score;            /* [jobs]: mean rank, centred; 0: not known */
	double squares;           /* sum of their squares */
};

void split_table_init(struct split_table *t, const double *value, size_t jobs);
void split_table_done(struct split_table *t);

/* Which jobs failed: the first `failed` of `order`. */
struct split_outcomes {
	size_t jobs, failed;
	unsigned *order;
	double *log_factorial; /* [jobs + 2] */
};

void split_outcomes_init(struct split_outcomes *o, const bool *failed, size_t jobs);
/* Others failed instead, as many. */
void split_outcomes_shuffle(struct split_outcomes *o, uint64_t *random);
void split_outcomes_done(struct split_outcomes *o);

double split_statistic(const struct split_table *t, const struct split_outcomes *o);

/* The values (from, to]. */
struct split {
	double from, to;
	struct rate inside, outside;
};

/* The split with the largest share of the statistic. If it is open at one end, the rate inside is the higher one. */
void split_best(const struct split_table *t, const struct split_outcomes *o, struct split *ret);
