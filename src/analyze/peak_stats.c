/* SPDX-License-Identifier: MIT */
#include "analyze/peak_stats.h"

#include <math.h>
#include <string.h>

#include "base/defs.h"

#define SMOOTHING 0.3
#define LEVEL_SMOOTHING 0.4
#define TREND_SMOOTHING 0.2
#define RECENT_RUNS 8
#define NEAREST_RUNS 5
#define UPPER_QUANTILE 0.9
#define SPREAD_DEVIATIONS 3
#define RESIDUAL_DEVIATIONS 2
#define FIT_RUNS_MIN 3
#define STEEPEST 1.5 /* of a rise in proportion to the input, beyond what was seen */

const char *peak_center_name(enum peak_center center)
{
#define X(id, name, ...) [CENTER_##id] = name,
	static const char *const names[] = { PEAK_CENTERS(X) };
#undef X
	return names[center];
}

void peak_pair_sums_add(struct pair_sums *s, double x, double y)
{
	double dx = x - s->mean_x;

	s->n++;
	s->mean_x += dx / s->n;
	s->mean_y += (y - s->mean_y) / s->n;
	s->xx += dx * (x - s->mean_x);
	s->xy += dx * (y - s->mean_y);
}

/* Least squares. False: the inputs do not vary. */
static bool fit(const struct pair_sums *s, double x, double *ret)
{
	if (s->xx <= 1e-9 * s->n * s->mean_x * s->mean_x)
		return false;
	*ret = s->mean_y + s->xy / s->xx * (x - s->mean_x);
	return true;
}

static double quantile(const float *sorted, size_t n, double q)
{
	double at = (double)(n - 1) * q;
	size_t i = (size_t)at;

	return i + 1 < n ? sorted[i] + (at - (double)i) * ((double)sorted[i + 1] - sorted[i])
	                 : sorted[i];
}

static double largest_recent(const struct peak_stats *s)
{
	double largest = 0;

	for (uint64_t i = 0; i < RECENT_RUNS && i < s->n; i++)
		largest = MAX(largest, (double)s->peak[(s->n - 1 - i) % PEAK_WINDOW]);
	return largest;
}

/* The largest peak of the runs in the window whose inputs are most similar, by ratio. */
static double largest_nearest(const struct peak_stats *s, float log_input)
{
	float distance[NEAREST_RUNS], peak[NEAREST_RUNS], largest = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->n_window; i++) {
		float d = fabsf(s->log_input[i] - log_input);
		size_t at;

		if (isnan(d) || (n == NEAREST_RUNS && d >= distance[n - 1]))
			continue;
		for (at = n < NEAREST_RUNS ? n++ : n - 1; at > 0 && distance[at - 1] > d; at--) {
			distance[at] = distance[at - 1];
			peak[at] = peak[at - 1];
		}
		distance[at] = d;
		peak[at] = s->peak[i];
	}
	for (size_t i = 0; i < n; i++)
		largest = MAX(largest, peak[i]);
	return largest;
}

/* A line through few runs whose inputs are alike says nothing about an input many times as large. */
static double largest_credible(const struct peak_stats *s, double input)
{
	return STEEPEST * s->largest * MAX(1, input / s->largest_input);
}

/* A line may fall below all that was seen, and both may rise far above it. */
static void input_centers(const struct peak_stats *s, double input, double *ret)
{
	double least = 0.5 * s->sorted[0], line, power, sd;

	if (!(input > 0) || s->line.n < FIT_RUNS_MIN || s->line.n < (double)s->n ||
	    !fit(&s->line, input, &line) || !fit(&s->power, log(input), &power))
		return;
	ret[CENTER_LINE] = MIN(MAX(line, least), largest_credible(s, input));
	ret[CENTER_POWER] = MIN(MAX(exp(power), least), 4 * s->largest);
	ret[CENTER_NEAREST] = largest_nearest(s, (float)log(input));
	ret[CENTER_LINE_SPREAD] = ret[CENTER_LINE];
	ret[CENTER_POWER_SPREAD] = ret[CENTER_POWER];
	if (s->n_residuals < 2)
		return;
	sd = sqrt(s->line_squares / s->n_residuals);
	ret[CENTER_LINE_SPREAD] += RESIDUAL_DEVIATIONS * sd;
	sd = sqrt(s->power_squares / s->n_residuals);
	ret[CENTER_POWER_SPREAD] *= exp(MIN(RESIDUAL_DEVIATIONS * sd, 3.0));
}

void peak_stats_centers(const struct peak_stats *s, const struct peak_query *query,
                        double ret[static CENTER_COUNT])
{
	double n = (double)s->n, least = 0.5 * s->sorted[0];

	memset(ret, 0, CENTER_COUNT * sizeof *ret);
	ret[CENTER_LARGEST] = s->largest;
	ret[CENTER_MEAN] = s->mean;
	ret[CENTER_SMOOTHED] = s->smoothed;
	ret[CENTER_RECENT] = largest_recent(s);
	ret[CENTER_SPREAD] = s->mean + (n > 1 ? SPREAD_DEVIATIONS * sqrt(s->squares / (n - 1)) : 0);
	ret[CENTER_UPPER] = quantile(s->sorted, s->n_window, UPPER_QUANTILE);
	ret[CENTER_TREND] = MIN(MAX(s->level + s->trend, least), 2 * s->largest);
	input_centers(s, query->input_bytes, ret);
	ret[CENTER_REQUESTED] = query->requested_bytes;
}

static size_t find_sorted(const struct peak_stats *s, float value)
{
	size_t low = 0, high = s->n_window;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->sorted[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void window_add(struct peak_stats *s, float peak, float log_input)
{
	size_t at = s->n % PEAK_WINDOW, place;

	if (s->n_window == PEAK_WINDOW) {
		place = find_sorted(s, s->peak[at]);
		s->n_window--;
		memmove(s->sorted + place, s->sorted + place + 1,
		        (s->n_window - place) * sizeof *s->sorted);
	}
	place = find_sorted(s, peak);
	memmove(s->sorted + place + 1, s->sorted + place,
	        (s->n_window - place) * sizeof *s->sorted);
	s->sorted[place] = peak;
	s->n_window++;
	s->peak[at] = peak;
	s->log_input[at] = log_input;
}

static void learn_smoothed(struct peak_stats *s, double peak)
{
	double before = s->level;

	if (s->n == 0) {
		s->smoothed = s->level = peak;
		return;
	}
	s->smoothed += SMOOTHING * (peak - s->smoothed);
	s->level = LEVEL_SMOOTHING * peak + (1 - LEVEL_SMOOTHING) * (before + s->trend);
	s->trend += TREND_SMOOTHING * (s->level - before - s->trend);
}

void peak_stats_learn(struct peak_stats *s, const struct peak_query *query,
                      const double centers[CENTER_COUNT], double peak_bytes)
{
	double input = query->input_bytes, off = peak_bytes - s->mean;

	if (centers && centers[CENTER_LINE] > 0) {
		double residual = peak_bytes - centers[CENTER_LINE];
		double ratio = log(peak_bytes / centers[CENTER_POWER]);

		s->line_squares += residual * residual;
		s->power_squares += ratio * ratio;
		s->n_residuals++;
	}
	learn_smoothed(s, peak_bytes);
	window_add(s, (float)peak_bytes, input > 0 ? (float)log(input) : NAN);
	if (input > 0) {
		peak_pair_sums_add(&s->line, input, peak_bytes);
		peak_pair_sums_add(&s->power, log(input), log(peak_bytes));
		s->largest_input = MAX(s->largest_input, input);
	}
	s->n++;
	s->mean += off / (double)s->n;
	s->squares += off * (peak_bytes - s->mean);
	s->largest = MAX(s->largest, peak_bytes);
}
