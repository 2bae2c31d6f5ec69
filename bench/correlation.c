/* SPDX-License-Identifier: MIT */
/* How often correlation_find() finds something where there is nothing, how often it finds an effect that was planted,
 * and how far its confidence can be trusted. Beside it the method that the documentation of the reference describes:
 * failure rates in bins, a gate on a confidence that is not a probability, and no test. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/correlation.h"
#include "base/clock.h"

#define JOBS_MAX 1000
#define FEATURES_MAX 12
#define STEP 0.7 /* of ranks from 0 to 1: three jobs of ten use more than 1 GB */

struct data {
	struct correlation_group group;
	bool failed[JOBS_MAX];
	double value[FEATURES_MAX * JOBS_MAX];
};

/* ---- data ------------------------------------------------------------------------------------- */

static double next_uniform(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Jobs whose first property is above the step fail at another rate. */
static void make(struct data *d, size_t jobs, size_t features, double low, double high,
                 uint64_t *random)
{
	d->group = (struct correlation_group){ jobs, features, d->failed, d->value };
	for (size_t i = 0; i < jobs; i++) {
		for (size_t j = 0; j < features; j++)
			d->value[j * jobs + i] = next_uniform(random);
		d->failed[i] = next_uniform(random) < (d->value[i] > STEP ? high : low);
	}
}

/* ---- rates in bins ----------------------------------------------------------------------------- */

#define BINS 4

/* A bin with two jobs or more whose rate is one and a half times that of all; the confidence grows with the distance
 * of the rates and with the number of jobs. */
static bool bins_claim(const struct data *d)
{
	struct rate all = { 0, (unsigned)d->group.jobs };

	for (size_t i = 0; i < d->group.jobs; i++)
		all.failed += d->failed[i];
	for (size_t j = 0; j < d->group.features; j++) {
		struct rate bin[BINS] = { 0 };

		for (size_t i = 0; i < d->group.jobs; i++) {
			struct rate *b = &bin[(int)(d->value[j * d->group.jobs + i] * BINS)];

			b->jobs++;
			b->failed += d->failed[i];
		}
		for (int b = 0; b < BINS; b++) {
			double more = rate_test_ratio(bin[b]) - rate_test_ratio(all);
			double confidence = 0.5 + fabs(more) + bin[b].jobs / 100.0;

			if (bin[b].jobs >= 2 &&
			    rate_test_ratio(bin[b]) > 1.5 * rate_test_ratio(all) &&
			    confidence > CORRELATION_GATE)
				return true;
		}
	}
	return false;
}

/* ---- the tables -------------------------------------------------------------------------------- */

struct scene {
	size_t jobs, features, sets;
	double low, high;
	double target; /* percent */
};

static void show_scene(const struct scene *s, struct data *d)
{
	uint64_t random = 1 + s->jobs * 31 + s->features * 7 + (uint64_t)(s->low * 100);
	size_t found = 0, in_bins = 0;
	uint64_t start_ns = clock_thread_cpu_ns();

	for (size_t i = 0; i < s->sets; i++) {
		struct correlation_findings f;

		make(d, s->jobs, s->features, s->low, s->high, &random);
		(void)correlation_find(&d->group, 1, i, NULL, &f);
		/* A planted effect counts as found only where it is. */
		if (f.list.len && (s->low == s->high || f.list.at[0].feature == 0))
			found++;
		in_bins += bins_claim(d);
		correlation_findings_done(&f);
	}
	printf("%6zu %9zu  %3.0f %% -> %3.0f %%  %8.1f %%  %s %2.0f %%  %8.1f %% %9.1f\n", s->jobs,
	       s->features, s->low * 100, s->high * 100, 100.0 * (double)found / (double)s->sets,
	       s->low == s->high ? "at most " : "at least", s->target,
	       100.0 * (double)in_bins / (double)s->sets,
	       (double)(clock_thread_cpu_ns() - start_ns) / 1e6 / (double)s->sets);
	fflush(stdout);
}

/* Whether so many fresh jobs that chance does not matter show a difference of the same direction there. */
static bool holds(const struct correlation_finding *f, double more)
{
	double from = fmax(f->from, 0), to = fmin(f->to, 1);
	double share = fmax(to - fmax(from, STEP), 0); /* of jobs, above the step and inside */
	double difference = share / (to - from) - (1 - STEP - share) / (1 - (to - from));

	return f->feature == 0 &&
	       more * difference * (rate_test_ratio(f->inside) - rate_test_ratio(f->outside)) > 0;
}

#define CLASSES 5

/* Half of the types have no effect, the others one of 20 to 60 points; 20 to 200 jobs. */
static void show_calibration(struct data *d, size_t sets)
{
	static const double upper[CLASSES] = { 0.7, 0.8, 0.9, 0.97, 1 };
	double claimed[CLASSES] = { 0 };
	size_t n[CLASSES] = { 0 }, held[CLASSES] = { 0 };
	uint64_t random = 99;

	for (size_t i = 0; i < sets; i++) {
		double low = 0.05 + 0.25 * next_uniform(&random);
		double more = next_uniform(&random) < 0.5 ? 0 : 0.2 + 0.4 * next_uniform(&random);
		struct correlation_findings f;

		make(d, (size_t)(20 * pow(10, next_uniform(&random))), 4, low, low + more, &random);
		(void)correlation_find(&d->group, 1, i, NULL, &f);
		vec_each(&f.list, found) {
			size_t class = 0;

			while (found->confidence > upper[class])
				class ++;
			n[class]++;
			claimed[class] += found->confidence;
			held[class] += holds(found, more);
		}
		correlation_findings_done(&f);
	}
	printf("\nconfidence  findings  mean confidence  held on fresh jobs\n");
	for (size_t i = 0; i < CLASSES; i++)
		if (n[i])
			printf("<= %.2f %11zu %16.2f %19.2f\n", upper[i], n[i],
			       claimed[i] / (double)n[i], (double)held[i] / (double)n[i]);
}

/* correlation [PART PARTS]: all scenes, or every PARTS-th of them, beginning with this one. */
int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ 5, 2, 1000, 0.5, 0.5, 5 },      { 20, 2, 1000, 0.2, 0.2, 5 },
		{ 20, 10, 1000, 0.5, 0.5, 5 },    { 50, 10, 1000, 0.05, 0.05, 5 },
		{ 200, 10, 1000, 0.2, 0.2, 5 },   { 1000, 12, 1000, 0.5, 0.5, 5 },
		{ 20, 2, 500, 0.15, 0.6, 30 },    { 50, 2, 500, 0.15, 0.6, 65 },
		{ 200, 2, 500, 0.15, 0.6, 99 },   { 50, 10, 500, 0.15, 0.6, 40 },
		{ 200, 10, 1000, 0.15, 0.6, 99 }, /* 400 are too few to tell 98.7 from 99.7 % */
	};
	const size_t n = sizeof scenes / sizeof *scenes;
	size_t parts = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	struct data *d = calloc(1, sizeof *d);

	if (!d || !parts)
		return 1;
	printf("  jobs properties  fail            found      target      in bins    CPU ms\n");
	for (size_t i = argc > 2 ? strtoul(argv[1], NULL, 10) : 0; i <= n; i += parts)
		if (i < n)
			show_scene(&scenes[i], d);
		else
			show_calibration(d, 2000);
	free(d);
	return 0;
}
