/* SPDX-License-Identifier: MIT */
#include "report/diff_change.h"

#include <math.h>

#include "base/clock.h"

static uint64_t noise_of(enum metric_unit unit)
{
	switch (unit) {
	case UNIT_NS:
		return 20 * NS_PER_MS;
	case UNIT_MIB:
	case UNIT_BYTES:
		return 1 << 20;
	case UNIT_WH:
		return MJ_PER_WH / 100;
	case UNIT_COUNT:
	case UNIT_MILLI:
	case UNIT_PCT:
		break;
	}
	return 0;
}

static int64_t gap(struct diff_pair pair)
{
	return (int64_t)(pair.b.value - pair.a.value);
}

/* A bound decides only on its own side: "at least 1.2×" is more, "at least 0.9×" may be anything. */
static enum diff_direction direct(double ratio, enum diff_bound bound, double noise)
{
	if (ratio > 1 + noise && bound != DIFF_AT_MOST)
		return DIFF_MORE;
	if (ratio < 1 / (1 + noise) && bound != DIFF_AT_LEAST)
		return DIFF_LESS;
	return bound == DIFF_EXACT || bound == DIFF_ROUGH ? DIFF_UNCHANGED : DIFF_UNKNOWN;
}

struct diff_change diff_change(struct diff_pair pair, enum metric_unit unit)
{
	enum diff_bound bound = diff_bound(pair);
	bool is_bound = bound == DIFF_AT_LEAST || bound == DIFF_AT_MOST;
	double noise = bound == DIFF_EXACT ? DIFF_NOISE_RATIO : DIFF_NOISE_SAMPLED_RATIO;
	double ratio = (double)pair.b.value / (double)pair.a.value;
	struct diff_change c = { .factor = 1, .bound = bound };

	if (!diff_is_comparable(pair))
		return c;
	if (pair.a.value == pair.b.value)
		ratio = 1; /* of 0 and 0, too */
	c.direction = direct(ratio, bound, noise);
	if (!is_bound && c.direction != DIFF_UNCHANGED &&
	    (uint64_t)llabs(gap(pair)) <= noise_of(unit))
		c.direction = DIFF_TOO_SMALL;
	if (c.direction == DIFF_MORE || c.direction == DIFF_LESS)
		c.factor = c.direction == DIFF_MORE ? ratio : 1 / ratio;
	if (is_bound)
		c.bound = DIFF_AT_LEAST; /* at most 0.5× is at least 2× less */
	return c;
}

/* Whether a part's change goes the same way as the whole's, and is at least half of it. */
static bool is_most(int64_t part, int64_t whole)
{
	return whole && (part > 0) == (whole > 0) && llabs(part) >= llabs(whole) / 2;
}

/* A part that one job has not took no time there. */
static int64_t gap_or_all(struct diff_pair pair)
{
	return (int64_t)((figure_is_known(pair.b) ? pair.b.value : 0) -
	                 (figure_is_known(pair.a) ? pair.a.value : 0));
}

uint32_t diff_main_sheet(const struct diff *d, struct diff_pair took)
{
	const struct diff_sheet *most = NULL;
	int64_t most_gap = 0;

	vec_each(&d->sheets, s) {
		int64_t part = gap_or_all(diff_sheet_took(s));

		if (is_most(part, gap(took)) && llabs(part) > llabs(most_gap)) {
			most = s;
			most_gap = part;
		}
	}
	return most ? MAX(most->a->s.num, most->b->s.num) : 0;
}

const char *diff_main_program(const struct diff *d, struct diff_pair cpu)
{
	const struct diff_program *p = d->programs.len > 1 ? &d->programs.at[0] : NULL;
	struct diff_pair part;

	if (!p)
		return NULL;
	part = (struct diff_pair){ p->a->cpu_time_ns, p->b->cpu_time_ns };
	if (!is_most(gap_or_all(part), gap(cpu)))
		return NULL;
	return *p->a->name ? p->a->name : p->b->name;
}
