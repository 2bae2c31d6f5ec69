/* SPDX-License-Identifier: MIT */
#include "analyze/peak_baselines.h"

#include <math.h>

#include "base/defs.h"

const char *peak_baseline_name(enum peak_baseline baseline)
{
#define X(id, name) [BASELINE_##id] = name,
	static const char *const names[] = { PEAK_BASELINES(X) };
#undef X
	return names[baseline];
}

/* Between the two nearest ranks, as most tools compute it. */
static double percentile(const struct peak_baselines *b, double q)
{
	double at = (double)(b->sorted.len - 1) * q;
	size_t i = (size_t)at;
	double low = b->sorted.at[i], high = b->sorted.at[MIN(i + 1, b->sorted.len - 1)];

	return low + (at - (double)i) * (high - low);
}

static double predict_linear(const struct peak_baselines *b, double input)
{
	const struct pair_sums *s = &b->line;
	double slope, residual = 0;

	if (!(input > 0) || s->n < 2)
		return b->largest;
	slope = s->xx > 1e-9 * s->n * s->mean_x * s->mean_x ? s->xy / s->xx : 0;
	vec_each(&b->hull, p)
		residual = MAX(residual, p->y - s->mean_y - slope * (p->x - s->mean_x));
	return s->mean_y + slope * (input - s->mean_x) + residual;
}

static enum peak_baseline leader(const struct peak_baselines *b, enum peak_baseline end)
{
	enum peak_baseline best = 0;

	for (unsigned i = 1; i < end; i++)
		if (b->waste[i] < b->waste[best])
			best = (enum peak_baseline)i;
	return best;
}

void peak_baselines_predict(const struct peak_baselines *b, double input_bytes,
                            double ret[static BASELINE_COUNT])
{
	ret[BASELINE_P95] = percentile(b, 0.95);
	ret[BASELINE_P99] = percentile(b, 0.99);
	ret[BASELINE_MAX] = b->largest;
	ret[BASELINE_MAX_MARGIN] = 1.1 * b->largest;
	ret[BASELINE_MEAN_3SD] = b->mean + 3 * sqrt(b->squares / (double)b->n);
	ret[BASELINE_LINEAR] = predict_linear(b, input_bytes);
	ret[BASELINE_LEADER] = ret[leader(b, BASELINE_LINEAR)];
	ret[BASELINE_LEADER_INPUT] = ret[leader(b, BASELINE_LEADER)];
}

static size_t find_sorted(const struct peak_baselines *b, double value)
{
	size_t low = 0, high = b->sorted.len;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (b->sorted.at[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void window_add(struct peak_baselines *b, double peak)
{
	size_t place;

	if (b->ring.len == BASELINE_WINDOW) {
		double *oldest = &b->ring.at[b->n % BASELINE_WINDOW];

		place = find_sorted(b, *oldest);
		b->sorted.len--;
		memmove(b->sorted.at + place, b->sorted.at + place + 1,
		        (b->sorted.len - place) * sizeof *b->sorted.at);
		*oldest = peak;
	} else {
		double *newest = vec_push(&b->ring, BASELINE_WINDOW);

		if (newest)
			*newest = peak;
	}
	place = find_sorted(b, peak);
	(void)vec_push(&b->sorted, BASELINE_WINDOW);
	memmove(b->sorted.at + place + 1, b->sorted.at + place,
	        (b->sorted.len - 1 - place) * sizeof *b->sorted.at);
	b->sorted.at[place] = peak;
}

/* Whether b lies on or below the line from a to c. */
static bool is_below(const struct hull_point *a, const struct hull_point *b,
                     const struct hull_point *c)
{
	return (b->x - a->x) * (c->y - a->y) - (b->y - a->y) * (c->x - a->x) >= 0;
}

static void hull_remove(struct peak_baselines *b, size_t at)
{
	b->hull.len--;
	memmove(b->hull.at + at, b->hull.at + at + 1, (b->hull.len - at) * sizeof *b->hull.at);
}

static void hull_add(struct peak_baselines *b, struct hull_point p)
{
	size_t at = 0;

	while (at < b->hull.len && b->hull.at[at].x < p.x)
		at++;
	if (at < b->hull.len && b->hull.at[at].x <= p.x) {
		if (b->hull.at[at].y >= p.y)
			return;
		hull_remove(b, at);
	}
	if (at > 0 && at < b->hull.len && is_below(&b->hull.at[at - 1], &p, &b->hull.at[at]))
		return;
	if (!vec_push(&b->hull,
	              BASELINE_HULL_MAX)) /* hundreds of corners: none is known to need them */
		return;
	memmove(b->hull.at + at + 1, b->hull.at + at, (b->hull.len - 1 - at) * sizeof *b->hull.at);
	b->hull.at[at] = p;
	while (at >= 2 && is_below(&b->hull.at[at - 2], &b->hull.at[at - 1], &p)) {
		hull_remove(b, at - 1);
		at--;
	}
	while (at + 2 < b->hull.len && is_below(&p, &b->hull.at[at + 1], &b->hull.at[at + 2]))
		hull_remove(b, at + 1);
}

void peak_baselines_learn(struct peak_baselines *b, double input_bytes, double peak_bytes,
                          const double waste[BASELINE_COUNT])
{
	double off = peak_bytes - b->mean;

	for (unsigned i = 0; waste && i < BASELINE_COUNT; i++)
		b->waste[i] += waste[i];
	window_add(b, peak_bytes);
	if (input_bytes > 0) {
		peak_pair_sums_add(&b->line, input_bytes, peak_bytes);
		hull_add(b, (struct hull_point){ input_bytes, peak_bytes });
	}
	b->n++;
	b->mean += off / (double)b->n;
	b->squares += off * (peak_bytes - b->mean);
	b->largest = MAX(b->largest, peak_bytes);
}

void peak_baselines_done(struct peak_baselines *b)
{
	vec_done(&b->sorted);
	vec_done(&b->ring);
	vec_done(&b->hull);
}
