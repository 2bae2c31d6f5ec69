/* SPDX-License-Identifier: MIT */
#include "analyze/rate_test.h"

#include <math.h>

#include "base/defs.h"

/* Sums of probabilities that are equal in theory may differ in their last digits. */
#define TIE 1e-7

double rate_test_ratio(struct rate r)
{
	return r.jobs ? (double)r.failed / r.jobs : NAN;
}

static double log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* That k of the failures are in `a`: hypergeometric. */
static double log_chance(struct rate a, struct rate b, unsigned k)
{
	unsigned failed = a.failed + b.failed;

	return log_choose(a.jobs, k) + log_choose(b.jobs, failed - k) -
	       log_choose((double)a.jobs + b.jobs, failed);
}

static unsigned fewest(struct rate a, struct rate b)
{
	unsigned failed = a.failed + b.failed;

	return failed > b.jobs ? failed - b.jobs : 0;
}

double rate_fisher(struct rate a, struct rate b)
{
	unsigned most = MIN(a.jobs, a.failed + b.failed);
	double observed, sum = 0;

	if (!a.jobs || !b.jobs)
		return 1;
	observed = log_chance(a, b, a.failed) + TIE;
	for (unsigned k = fewest(a, b); k <= most; k++) {
		double chance = log_chance(a, b, k);

		sum += chance <= observed ? exp(chance) : 0;
	}
	return fmin(sum, 1);
}

struct rate_interval rate_wilson(struct rate r, double z)
{
	double n = r.jobs, p = rate_test_ratio(r), z2 = z * z;
	double middle, half;

	if (!r.jobs)
		return (struct rate_interval){ 0, 1 };
	middle = (p + z2 / (2 * n)) / (1 + z2 / n);
	half = z / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
	return (struct rate_interval){ fmax(middle - half, 0), fmin(middle + half, 1) };
}

struct rate_interval rate_newcombe(struct rate a, struct rate b, double z)
{
	struct rate_interval of_a = rate_wilson(a, z), of_b = rate_wilson(b, z);
	double p = rate_test_ratio(a), q = rate_test_ratio(b);

	if (!a.jobs || !b.jobs)
		return (struct rate_interval){ -1, 1 };
	return (struct rate_interval){ p - q - hypot(p - of_a.low, of_b.high - q),
		                       p - q + hypot(of_a.high - p, q - of_b.low) };
}
