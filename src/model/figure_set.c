/* SPDX-License-Identifier: MIT */
#include "model/figure_set.h"

#include <stdlib.h>

#define UNBOUNDED UINT64_MAX

void figure_set_add(struct figure_set *s, struct figure figure)
{
	struct figure *to = figure_is_known(figure) ? vec_push(&s->known, FIGURE_SET_MAX) : NULL;

	if (to)
		*to = figure;
	else
		s->missing++;
}

static int by_value(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

/* The mean of two neighbours in order, which may be the same one; all figures of a quality count as `instead`. */
static uint64_t mean_of(const struct figure_set *s, size_t first, size_t second,
                        enum quality quality, uint64_t instead)
{
	uint64_t *sorted = xcalloc(s->known.len, sizeof *sorted), low, high;

	for (size_t i = 0; i < s->known.len; i++)
		sorted[i] = s->known.at[i].quality == quality ? instead : s->known.at[i].value;
	qsort(sorted, s->known.len, sizeof *sorted, by_value);
	low = sorted[first];
	high = sorted[second];
	free(sorted);
	return high == UNBOUNDED ? UNBOUNDED : low + (high - low) / 2;
}

static bool has_samples(const struct figure_set *s)
{
	vec_each(&s->known, f)
		if (f->quality == QUALITY_SAMPLED)
			return true;
	return s->missing > 0;
}

/* Between which values it lies, if the bounds are replaced by the most and the least that they may be. */
static struct figure figure_at(const struct figure_set *s, size_t first, size_t second)
{
	uint64_t value = mean_of(s, first, second, QUALITY_MISSING, 0);
	uint64_t most = mean_of(s, first, second, QUALITY_AT_LEAST, UNBOUNDED);
	uint64_t least = mean_of(s, first, second, QUALITY_AT_MOST, 0);
	struct figure found = { value, QUALITY_SAMPLED };

	if (has_samples(s))
		return found;
	if (least == most)
		found.quality = QUALITY_EXACT;
	else if (most == UNBOUNDED && least == value)
		found.quality = QUALITY_AT_LEAST;
	else if (least == 0 && most == value)
		found.quality = QUALITY_AT_MOST;
	return found;
}

struct figure figure_set_percentile(const struct figure_set *s, unsigned percent)
{
	size_t n = s->known.len, rank = (n * percent + 99) / 100;

	rank = MIN(MAX(rank, (size_t)1), n);
	return n ? figure_at(s, rank - 1, rank - 1) : (struct figure){ 0 };
}

struct figure figure_set_median(const struct figure_set *s)
{
	size_t n = s->known.len;

	return n ? figure_at(s, (n - 1) / 2, n / 2) : (struct figure){ 0 };
}

void figure_set_done(struct figure_set *s)
{
	vec_done(&s->known);
	*s = (struct figure_set){ 0 };
}
