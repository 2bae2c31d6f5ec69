/* SPDX-License-Identifier: MIT */
/* rate_test.h - two groups of jobs and how many of each failed: whether the rates differ, and by how much. Exact
 * for any size, so that five jobs are judged as soundly as a thousand. */
#pragma once

struct rate {
	unsigned failed, jobs;
};

double rate_test_ratio(struct rate r); /* NAN for no jobs */
/* Fisher's exact test of both sides: the probability of a table that is at most as likely as this one, if
 * the groups do not differ. 1 if either is empty. */
double rate_fisher(struct rate a, struct rate b);

struct rate_interval {
	double low, high;
};

/* Wilson's interval of one rate; z = 1.96 covers it in 95 % of cases. 0 to 1 for no jobs. */
struct rate_interval rate_wilson(struct rate r, double z);
/* Newcombe's interval of the difference a − b, from the two above. */
struct rate_interval rate_newcombe(struct rate a, struct rate b, double z);
