/* SPDX-License-Identifier: MIT */
#include "analyze/peak_estimator.h"

#include <math.h>
#include <string.h>

#include "base/defs.h"

/* ---- constants: tuned on generated histories (bench/learning.py), none on measured ones ---- */

static const double margins[PEAK_MARGINS] = { 0.2,  0.3,  0.4,  0.5,  0.6,  0.7,  0.8,
	                                      0.85, 0.9,  0.95, 0.98, 1,    1.01, 1.02,
	                                      1.03, 1.05, 1.07, 1.1,  1.15, 1.2,  1.3,
	                                      1.4,  1.6,  1.8,  2.1,  2.5,  3,    4 };
#define BYTES_MIN 1e6          /* the least request */
#define SECONDS_MIN 1e-3       /* of a run: where whole seconds are recorded, short ones took 0 */
#define EXPERIENCE_WEIGHT 10.0 /* runs of its own that the experience of other types is worth */
#define EXPERIENCE_RUNS 30.0   /* … and runs that the built-in prior is worth in that */
#define RELATIVE_COST_MAX 10.0 /* of one run, so that no outlier decides for all types */
#define TIME_WEIGHT                                                                                \
	0.75 /* the power of its time by which a run counts: long ones count, but do not decide alone */
#define SMOOTHING_REACH 2 /* margins to either side that support one */
#define FAILURES_FEW                                                                               \
	0.005 /* of attempts, for PEAK_LOW_FAILURE: below, a failure becomes cheaper, */
#define FAILURES_MANY 0.0065 /* … above, dearer; in between its price stays */
#define FAILURE_PRICE 14.0   /* … at this: times the mean byte seconds of a run */
#define FAILURE_GAIN_MAX 6.0 /* the logarithm by which the price moves */
/* The rule with the best record failed less often than it will: for PEAK_LOW_WASTE, times the mean byte seconds of a
 * run of the type. */
#define FAILURE_PRICE_LOW_WASTE 0.4
/* Rules that are behind the best one by a standard error of its record weigh 1/e of it, */
#define BEHIND_MAX 12.0 /* … and nothing by this many */
#define BOUND_LEVEL 0.95
#define BOUND_GAIN 0.8         /* per miss, of one type */
#define BOUND_GAIN_SHARED 0.02 /* … of all types */
#define BOUND_OFFSET_MAX 4.0
#define RATIO_MEMORY 0.98
#define RATIO_SD_PRIOR 0.15
#define RATIO_RUNS_PRIOR 2.0
#define HELD_RUNS_PRIOR 20.0
#define HELD_MEMORY 0.98
#define HELD_MEMORY_SHARED 0.99

static unsigned stage_of(uint64_t n)
{
	return n < 2 ? 0 : n < 4 ? 1 : n < 10 ? 2 : n < 30 ? 3 : 4;
}

double peak_estimator_cost(double bytes, double peak_bytes, double seconds, double largest_bytes,
                           unsigned *ret_failed)
{
	double cost = 0;
	unsigned failed = 0;

	bytes = MAX(bytes, BYTES_MIN);
	while (bytes < peak_bytes) {
		cost += bytes * seconds;
		failed++;
		bytes = largest_bytes > bytes ? largest_bytes : 2 * bytes;
	}
	*ret_failed = failed;
	return cost + (bytes - peak_bytes) * seconds;
}

/* ---- the built-in prior ---- */

/* How many standard deviations a center lies above the mean, by stage: the expected largest of n normal values, for those
 * that are one. Requests are generous. */
static const double expected_shift[CENTER_COUNT][PEAK_STAGES] = {
	[CENTER_LARGEST] = { 0, 0.7, 1.27, 1.9, 2.4 },
	[CENTER_RECENT] = { 0, 0.7, 1.27, 1.42, 1.42 },
	[CENTER_NEAREST] = { 0, 0.7, 1.16, 1.16, 1.16 },
	[CENTER_UPPER] = { 0, 0.7, 1.27, 1.28, 1.28 },
	[CENTER_SPREAD] = { 0, 2, 3, 3, 3 },
	[CENTER_LINE_SPREAD] = { 0, 1.4, 2, 2, 2 },
	[CENTER_POWER_SPREAD] = { 0, 1.4, 2, 2, 2 },
	[CENTER_REQUESTED] = { 5, 5, 5, 5, 5 },
};

/* A run as it is expected, relative to its center. */
struct expected_run {
	double share, peak, largest;
};

#define EXPECTED_STEPS 9 /* on each side of the mean */
#define EXPECTED_KINDS 4

/* Logarithms of peaks are taken to be normal, with standard deviations as jobs have them. */
static void expect_runs(enum peak_center center, unsigned stage,
                        struct expected_run ret[static(2 * EXPECTED_STEPS + 1) * EXPECTED_KINDS])
{
	static const struct {
		double sd, share;
	} kinds[EXPECTED_KINDS] = { { 0.02, 0.3 }, { 0.08, 0.3 }, { 0.25, 0.25 }, { 0.6, 0.15 } };
	double shift = expected_shift[center][stage], weights = 0;
	size_t n = 0;

	for (int i = -EXPECTED_STEPS; i <= EXPECTED_STEPS; i++) {
		double z = 1.96 * i / EXPECTED_STEPS, weight = exp(-z * z / 2);

		weights += weight;
		for (size_t k = 0; k < EXPECTED_KINDS; k++) {
			double sd = kinds[k].sd;

			ret[n++] = (struct expected_run){
				.share = kinds[k].share * weight,
				.peak = 1e9 * exp(sd * (z - shift)),
				.largest = 1e9 *
				           exp(sd * (expected_shift[CENTER_LARGEST][stage] - shift))
			};
		}
	}
	for (size_t i = 0; i < n; i++)
		ret[i].share /= weights;
}

static struct rule_record expected_record(const struct expected_run *runs, size_t n, double margin)
{
	struct rule_record sum = { 0 };
	unsigned failed;

	for (size_t i = 0; i < n; i++) {
		double cost = peak_estimator_cost(1e9 * margin, runs[i].peak, 1, runs[i].largest,
		                                  &failed) /
		              runs[i].peak;

		sum.cost += runs[i].share * MIN(cost, RELATIVE_COST_MAX);
		sum.failed += runs[i].share * failed;
	}
	return sum;
}

void peak_experience_init(struct peak_experience *e, enum peak_policy policy)
{
	static const double widths[PEAK_STAGES] = { 3, 2.5, 2.2, 1.9, 1.7 };
	struct expected_run runs[(2 * EXPECTED_STEPS + 1) * EXPECTED_KINDS];

	*e = (struct peak_experience){ .policy = policy };
	for (unsigned s = 0; s < PEAK_STAGES; s++) {
		e->bound_width[s] = widths[s];
		e->runs[s] = EXPERIENCE_RUNS;
		for (unsigned c = 0; c < CENTER_COUNT; c++) {
			expect_runs((enum peak_center)c, s, runs);
			for (unsigned m = 0; m < PEAK_MARGINS; m++) {
				struct rule_record r = expected_record(runs, ARRAY_LEN(runs),
				                                       margins[m]);

				e->rules[s][c][m] = (struct rule_record){
					r.cost * EXPERIENCE_RUNS, r.failed * EXPERIENCE_RUNS
				};
			}
		}
	}
}

/* ---- the competition ---- */

/* The scores of neighbouring margins support each other, because one run decides little about 1.07 against 1.1. */
static double smoothed(const double scores[static PEAK_MARGINS], int at)
{
	double sum = 0, weights = 0;

	for (int i = MAX(at - SMOOTHING_REACH, 0); i <= MIN(at + SMOOTHING_REACH, PEAK_MARGINS - 1);
	     i++) {
		double weight = SMOOTHING_REACH + 1 - (i < at ? at - i : i - at);

		sum += weight * scores[i];
		weights += weight;
	}
	return sum / weights;
}

/* How far the failures are off a share of the attempts, in relation to what chance does. */
static double failure_excess(const struct peak_experience *e, double share)
{
	return (e->failed - share * e->seen) / (1 + 0.5 * sqrt(share * e->seen));
}

static double mean_work(const struct peak_estimator *t)
{
	return t->work / (double)t->stats.n;
}

/* The extra cost of a failed attempt, in byte seconds; `work`: of a mean run of the type. A price
 * that moves all the time makes requests that are generous now and tight later, and those waste
 * more than what is in between. */
static double failure_price(const struct peak_experience *e, double work)
{
	double gain = MAX(failure_excess(e, FAILURES_MANY), 0) +
	              MIN(failure_excess(e, FAILURES_FEW), 0);

	if (e->policy == PEAK_LOW_WASTE)
		return FAILURE_PRICE_LOW_WASTE * work;
	if (e->seen == 0)
		return 0;
	gain = MIN(MAX(gain, -FAILURE_GAIN_MAX), FAILURE_GAIN_MAX);
	return FAILURE_PRICE * e->work / e->seen * exp(gain);
}

/* The cost of each rule so far; INFINITY: it cannot be used. Experience counts like runs of the
 * type's own. */
static void score_rules(const struct peak_estimator *t, const struct peak_experience *e,
                        const double centers[static CENTER_COUNT],
                        double ret[static CENTER_COUNT][PEAK_MARGINS])
{
	unsigned stage = stage_of(t->stats.n);
	double work = mean_work(t), price = failure_price(e, work), scores[PEAK_MARGINS];
	double share = EXPERIENCE_WEIGHT / e->runs[stage];

	for (unsigned c = 0; c < CENTER_COUNT; c++) {
		bool is_usable = centers[c] > 0 &&
		                 !(c == CENTER_REQUESTED && e->policy == PEAK_LOW_WASTE);

		for (int m = 0; m < PEAK_MARGINS; m++) {
			const struct rule_record *own = &t->rules[c][m],
						 *others = &e->rules[stage][c][m];

			scores[m] = own->cost + share * others->cost * work +
			            price * (own->failed + share * others->failed);
		}
		for (int m = 0; m < PEAK_MARGINS; m++)
			ret[c][m] = is_usable ? smoothed(scores, m) : INFINITY;
	}
}

/* The best of some hundred rules owes a part of its record to chance, and those that are almost as good would request
 * something else: a geometric mean of their requests, each weighted by how little it is behind. */
static double consensus(const double scores[static CENTER_COUNT][PEAK_MARGINS],
                        const double centers[static CENTER_COUNT], double best, double error)
{
	double sum = 0, weights = 0;

	for (unsigned c = 0; c < CENTER_COUNT; c++)
		for (unsigned m = 0; m < PEAK_MARGINS; m++) {
			double behind = (scores[c][m] - best) / error, weight;

			if (!(behind < BEHIND_MAX))
				continue;
			weight = exp(-behind);
			sum += weight * log(centers[c] * margins[m]);
			weights += weight;
		}
	return exp(sum / weights);
}

/* Where few failures are wanted, requests are above most peaks, and a mean of two good ones is good. Elsewhere the best of
 * two may each be just above one of several modes, with nothing but waste in between: the best rule alone decides. */
static void choose_request(const struct peak_estimator *t, const struct peak_experience *e,
                           struct peak_prediction *p)
{
	double scores[CENTER_COUNT][PEAK_MARGINS], best = INFINITY;
	double runs = (double)t->stats.n + EXPERIENCE_WEIGHT;

	score_rules(t, e, p->centers, scores);
	for (unsigned c = 0; c < CENTER_COUNT; c++)
		for (unsigned m = 0; m < PEAK_MARGINS; m++)
			if (scores[c][m] < best) {
				best = scores[c][m];
				p->center = (enum peak_center)c;
				p->margin = margins[m];
			}
	p->bytes = p->centers[p->center] * p->margin;
	if (e->policy == PEAK_LOW_FAILURE && best > 0)
		p->bytes = consensus(scores, p->centers, best, best / sqrt(runs));
	p->bytes = MAX(p->bytes, BYTES_MIN);
}

/* ---- the upper bound ---- */

/* Standard deviation of the logarithm of peak / center, with a prior; *ret_mean: its mean. */
static double ratio_sd(const struct ratio_sums *r, double *ret_mean)
{
	double mean = r->sum / (r->n + 0.5);
	double variance = (RATIO_RUNS_PRIOR * RATIO_SD_PRIOR * RATIO_SD_PRIOR + r->squares -
	                   r->sum * mean) /
	                  (r->n + RATIO_RUNS_PRIOR);

	*ret_mean = mean;
	return sqrt(MAX(variance, 1e-5)) * (1 + 1 / (r->n + 1));
}

/* The center that predicted best; *ret_corrected: times its mean ratio; *ret_sd: of that logarithm. */
static double best_center(const struct peak_estimator *t, const double centers[static CENTER_COUNT],
                          double *ret_corrected, double *ret_sd)
{
	double least = INFINITY, best = 0;

	*ret_corrected = 0;
	for (unsigned c = 0; c < CENTER_REQUESTED; c++) {
		double mean, sd = ratio_sd(&t->ratio[c], &mean);

		if (centers[c] <= 0 || sd >= least)
			continue;
		least = sd;
		best = centers[c];
		*ret_corrected = best * exp(mean);
	}
	*ret_sd = least;
	return best;
}

/* Past ratios correct a center, but not beyond the largest run: the ratio of two runs is no trend. */
double peak_estimator_expected(const struct peak_estimator *t,
                               const double centers[static CENTER_COUNT])
{
	double corrected, sd;
	double center = best_center(t, centers, &corrected, &sd);

	return MIN(corrected, MAX(center, centers[CENTER_LARGEST]));
}

/* As many standard deviations above that as cover 95 %: their number is moved by each run, so that it covers them
 * whatever the distribution is. */
static double upper_bound(const struct peak_estimator *t, const struct peak_experience *e,
                          const double centers[static CENTER_COUNT])
{
	double width = e->bound_width[stage_of(t->stats.n)] + t->bound_offset, corrected, sd;

	best_center(t, centers, &corrected, &sd);
	return corrected * exp(sd * width);
}

static void learn_bound(struct peak_estimator *t, struct peak_experience *e,
                        const struct peak_prediction *p, double peak)
{
	double miss = (p->upper_bytes < peak) - (1 - BOUND_LEVEL);
	double own = MIN(1, (double)t->stats.n / 10);

	e->bound_width[stage_of(t->stats.n)] += BOUND_GAIN_SHARED * miss;
	t->bound_offset += BOUND_GAIN * own * miss;
	t->bound_offset = MIN(MAX(t->bound_offset, -BOUND_OFFSET_MAX), BOUND_OFFSET_MAX);
	for (unsigned c = 0; c < CENTER_REQUESTED; c++) {
		struct ratio_sums *r = &t->ratio[c];
		double ratio;

		if (p->centers[c] <= 0)
			continue;
		ratio = log(peak / p->centers[c]);
		r->n = r->n * RATIO_MEMORY + 1;
		r->sum = r->sum * RATIO_MEMORY + ratio;
		r->squares = r->squares * RATIO_MEMORY + ratio * ratio;
	}
}

/* ---- predict and learn ---- */

/* How often predictions were enough, of this type and of others at the same stage. */
static double track_record(const struct peak_estimator *t, const struct peak_experience *e)
{
	unsigned stage = stage_of(t->stats.n);
	double shared = (e->held[stage] + 4.5) / (e->tried[stage] + 5);

	return (t->held + HELD_RUNS_PRIOR * shared) / (t->tried + HELD_RUNS_PRIOR);
}

bool peak_estimator_predict(const struct peak_estimator *t, const struct peak_experience *e,
                            const struct peak_query *query, struct peak_prediction *ret)
{
	if (t->stats.n == 0)
		return false;
	peak_stats_centers(&t->stats, query, ret->centers);
	choose_request(t, e, ret);
	ret->upper_bytes = upper_bound(t, e, ret->centers);
	ret->confidence = track_record(t, e);
	return true;
}

static void learn_rules(struct peak_estimator *t, struct peak_experience *e,
                        const struct peak_prediction *p, double peak, double seconds)
{
	unsigned stage = stage_of(t->stats.n), failed;
	double mean_seconds = t->seconds / (double)t->stats.n;
	double weight = pow(seconds / mean_seconds, TIME_WEIGHT - 1);
	double used = peak * seconds;

	e->runs[stage]++;
	for (unsigned c = 0; c < CENTER_COUNT; c++)
		for (unsigned m = 0; m < PEAK_MARGINS; m++) {
			/* Without a center a rule must not look cheap. */
			double bytes = p->centers[c] > 0 ? p->centers[c] * margins[m]
			                                 : 1.1 * t->stats.largest;
			double cost = peak_estimator_cost(bytes, peak, seconds, t->stats.largest,
			                                  &failed);
			struct rule_record *own = &t->rules[c][m], *all = &e->rules[stage][c][m];

			own->cost += cost * weight;
			own->failed += failed;
			all->cost += MIN(cost / used, RELATIVE_COST_MAX);
			all->failed += failed;
		}
	t->work += peak * seconds * weight;
}

void peak_estimator_learn(struct peak_estimator *t, struct peak_experience *e,
                          const struct peak_query *query, const struct peak_prediction *prediction,
                          double peak_bytes, double seconds)
{
	unsigned stage = stage_of(t->stats.n), failed;

	peak_bytes = MAX(peak_bytes, BYTES_MIN);
	seconds = MAX(seconds, SECONDS_MIN);
	if (prediction) {
		(void)peak_estimator_cost(prediction->bytes, peak_bytes, seconds, t->stats.largest,
		                          &failed);
		e->seen++;
		e->failed += failed;
		e->work += peak_bytes * seconds;
		e->tried[stage] = e->tried[stage] * HELD_MEMORY_SHARED + 1;
		e->held[stage] = e->held[stage] * HELD_MEMORY_SHARED + !failed;
		t->tried = t->tried * HELD_MEMORY + 1;
		t->held = t->held * HELD_MEMORY + !failed;
		learn_rules(t, e, prediction, peak_bytes, seconds);
		learn_bound(t, e, prediction, peak_bytes);
	} else {
		t->work += peak_bytes * seconds;
	}
	peak_stats_learn(&t->stats, query, prediction ? prediction->centers : NULL, peak_bytes);
	t->seconds += seconds;
}
