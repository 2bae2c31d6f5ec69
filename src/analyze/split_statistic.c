/* SPDX-License-Identifier: MIT */
#include "analyze/split_statistic.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

/* How likely each way to differ is beforehand, by simulation the best mixture for steps, slopes and ranges. */
#define STEP_WEIGHT 0.5
#define RANGE_WEIGHT 0.1
#define TREND_WEIGHT 0.4
/* Jobs that use more fail more often than jobs that use less. */
#define MORE_WEIGHT 0.75

/* ---- the property ------------------------------------------------------------------------------ */

struct valued {
	double value;
	unsigned job;
};

static int by_value(const void *x, const void *y)
{
	const struct valued *a = x, *b = y;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return (a->job > b->job) - (a->job < b->job);
}

static size_t sort_known(const double *value, size_t jobs, struct valued *to)
{
	size_t n = 0;

	for (size_t i = 0; i < jobs; i++)
		if (isfinite(value[i]))
			to[n++] = (struct valued){ value[i], (unsigned)i };
	qsort(to, n, sizeof *to, by_value);
	return n;
}

static size_t count_distinct(const struct valued *v, size_t n)
{
	size_t distinct = n > 0;

	for (size_t i = 1; i < n; i++)
		distinct += v[i].value != v[i - 1].value;
	return distinct;
}

/* Jobs i to j - 1 have one value. A part is never divided within a value. */
static void add_value(struct split_table *t, const struct valued *v, size_t i, size_t j,
                      bool each_is_part)
{
	size_t n = t->known;
	double score = ((double)i + (double)j - (double)n) / 2;

	for (size_t k = i; k < j; k++) {
		t->bin[v[k].job] = (unsigned char)t->bins;
		t->score[v[k].job] = score;
		t->squares += score * score;
	}
	if (!each_is_part && j < n && j * SPLIT_BINS < n * (t->bins + 1))
		return;
	t->end[t->bins] = (unsigned)j;
	t->upper[t->bins] = j < n ? (v[j - 1].value + v[j].value) / 2 : INFINITY;
	t->bins++;
}

void split_table_init(struct split_table *t, const double *value, size_t jobs)
{
	cleanup(freep) struct valued *v = xcalloc(jobs + 1, sizeof *v);
	size_t n = sort_known(value, jobs, v), distinct = count_distinct(v, n);

	*t = (struct split_table){ .jobs = jobs,
		                   .known = (unsigned)n,
		                   .bin = xcalloc(jobs + 1, sizeof *t->bin),
		                   .score = xcalloc(jobs + 1, sizeof *t->score) };
	for (size_t i = 0; i < jobs; i++)
		t->bin[i] = SPLIT_BINS;
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && v[j].value == v[i].value;)
			j++;
		add_value(t, v, i, j, distinct <= SPLIT_BINS);
	}
}

void split_table_done(struct split_table *t)
{
	free(t->bin);
	free(t->score);
	*t = (struct split_table){ 0 };
}

/* ---- the outcomes ------------------------------------------------------------------------------ */

void split_outcomes_init(struct split_outcomes *o, const bool *failed, size_t jobs)
{
	size_t last = jobs;

	*o = (struct split_outcomes){ .jobs = jobs,
		                      .order = xcalloc(jobs + 1, sizeof *o->order),
		                      .log_factorial = xcalloc(jobs + 2, sizeof(double)) };
	for (size_t i = 0; i < jobs; i++)
		o->order[failed[i] ? o->failed++ : --last] = (unsigned)i;
	for (size_t i = 2; i < jobs + 2; i++)
		o->log_factorial[i] = o->log_factorial[i - 1] + log((double)i);
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void split_outcomes_shuffle(struct split_outcomes *o, uint64_t *random)
{
	for (size_t i = 0; i < o->failed; i++) {
		size_t k = i + (next_random(random) >> 32) * (o->jobs - i) / (UINT64_C(1) << 32);
		unsigned job = o->order[i];

		o->order[i] = o->order[k];
		o->order[k] = job;
	}
}

void split_outcomes_done(struct split_outcomes *o)
{
	free(o->order);
	free(o->log_factorial);
	*o = (struct split_outcomes){ 0 };
}

/* ---- the statistic ----------------------------------------------------------------------------- */

/* Failures by part. */
struct counts {
	unsigned below[SPLIT_BINS + 1]; /* in the parts below this one */
	unsigned failed;                /* whose value is known */
	double score;                   /* sum of their ranks */
	double log_same;                /* likelihood if all jobs have one rate */
};

/* The logarithm of the likelihood of so many failures, the rate being anything from 0 to 1: k! (n - k)! / (n + 1)! */
static double log_likelihood(const struct split_outcomes *o, unsigned failed, unsigned jobs)
{
	return o->log_factorial[failed] + o->log_factorial[jobs - failed] -
	       o->log_factorial[jobs + 1];
}

static void count(const struct split_table *t, const struct split_outcomes *o, struct counts *ret)
{
	unsigned in_bin[SPLIT_BINS + 1] = { 0 };

	ret->score = 0;
	for (size_t i = 0; i < o->failed; i++) {
		in_bin[t->bin[o->order[i]]]++;
		ret->score += t->score[o->order[i]];
	}
	ret->below[0] = 0;
	for (unsigned i = 0; i < t->bins; i++)
		ret->below[i + 1] = ret->below[i] + in_bin[i];
	ret->failed = ret->below[t->bins];
	ret->log_same = log_likelihood(o, ret->failed, t->known);
}

/* The failure rate of parts first to last - 1. */
static struct rate rate_within(const struct split_table *t, const struct counts *c, unsigned first,
                               unsigned last)
{
	return (struct rate){ c->below[last] - c->below[first],
		              t->end[last - 1] - (first ? t->end[first - 1] : 0) };
}

static struct rate rate_rest(const struct split_table *t, const struct counts *c, struct rate r)
{
	return (struct rate){ c->failed - r.failed, t->known - r.jobs };
}

static double ratio_of(const struct split_outcomes *o, const struct counts *c, struct rate in,
                       struct rate out)
{
	return exp(log_likelihood(o, in.failed, in.jobs) + log_likelihood(o, out.failed, out.jobs) -
	           c->log_same);
}

static bool is_higher(struct rate a, struct rate b)
{
	return (uint64_t)a.failed * b.jobs > (uint64_t)b.failed * a.jobs;
}

static double direction(bool is_more)
{
	return 2 * (is_more ? MORE_WEIGHT : 1 - MORE_WEIGHT);
}

/* From part `first` up. */
static double step_ratio(const struct split_table *t, const struct split_outcomes *o,
                         const struct counts *c, unsigned first)
{
	struct rate in = rate_within(t, c, first, t->bins), out = rate_rest(t, c, in);

	return direction(is_higher(in, out)) * ratio_of(o, c, in, out);
}

static double range_ratio(const struct split_table *t, const struct split_outcomes *o,
                          const struct counts *c, unsigned first, unsigned last)
{
	struct rate in = rate_within(t, c, first, last);

	return ratio_of(o, c, in, rate_rest(t, c, in));
}

static double mean_step(const struct split_table *t, const struct split_outcomes *o,
                        const struct counts *c)
{
	double sum = 0;

	for (unsigned i = 1; i < t->bins; i++)
		sum += step_ratio(t, o, c, i);
	return sum / (t->bins - 1);
}

/* Ranges that end above the first part and below the last. */
static unsigned count_ranges(const struct split_table *t)
{
	return (t->bins - 1) * (t->bins - 2) / 2;
}

static double mean_range(const struct split_table *t, const struct split_outcomes *o,
                         const struct counts *c)
{
	double sum = 0;

	for (unsigned i = 1; i < t->bins - 1; i++)
		for (unsigned j = i + 1; j < t->bins; j++)
			sum += range_ratio(t, o, c, i, j);
	return sum / count_ranges(t);
}

/* The sum of the ranks of failures is about normal; its shift has a normal prior of the size that n jobs can show. */
static double trend_ratio(const struct split_table *t, const struct counts *c)
{
	double n = t->known, m = c->failed, spread = fmax(n / 8, 1);
	double variance = t->squares * m * (n - m) / (n * (n - 1));
	double z2 = variance > 0 ? c->score * c->score / variance : 0;

	return direction(c->score > 0) * exp(z2 / 2 * spread / (1 + spread)) / sqrt(1 + spread);
}

double split_statistic(const struct split_table *t, const struct split_outcomes *o)
{
	struct counts c;
	double step, range;

	count(t, o, &c);
	step = mean_step(t, o, &c);
	if (t->bins == 2)
		return log(step);
	range = mean_range(t, o, &c);
	return log(STEP_WEIGHT * step + RANGE_WEIGHT * range + TREND_WEIGHT * trend_ratio(t, &c));
}

/* ---- the split to report ----------------------------------------------------------------------- */

static void set_range(const struct split_table *t, const struct counts *c, unsigned first,
                      unsigned last, struct split *ret)
{
	ret->inside = rate_within(t, c, first, last);
	ret->outside = rate_rest(t, c, ret->inside);
	ret->from = first ? t->upper[first - 1] : -INFINITY;
	ret->to = t->upper[last - 1];
}

void split_best(const struct split_table *t, const struct split_outcomes *o, struct split *ret)
{
	double best = -1;
	struct counts c;

	count(t, o, &c);
	for (unsigned i = 1; i < t->bins; i++) {
		double weight = STEP_WEIGHT * step_ratio(t, o, &c, i) / (t->bins - 1);

		if (weight <= best)
			continue;
		best = weight;
		set_range(t, &c, i, t->bins, ret);
		if (is_higher(ret->outside, ret->inside))
			set_range(t, &c, 0, i, ret);
	}
	for (unsigned i = 1; i + 1 < t->bins; i++)
		for (unsigned j = i + 1; j < t->bins; j++) {
			double weight = RANGE_WEIGHT * range_ratio(t, o, &c, i, j) /
			                count_ranges(t);

			if (weight <= best)
				continue;
			best = weight;
			set_range(t, &c, i, j, ret);
		}
}
