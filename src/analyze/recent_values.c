/* SPDX-License-Identifier: MIT */
#include "analyze/recent_values.h"

#include <math.h>

#include "base/clock.h"
#include "base/defs.h"

static const struct recent_value *nth(const struct recent_values *r, size_t n)
{
	return &r->at[(r->first + n) % RECENT_VALUES];
}

static void drop_first(struct recent_values *r)
{
	r->first = (uint8_t)((r->first + 1) % RECENT_VALUES);
	r->len--;
}

void recent_values_add(struct recent_values *r, uint64_t window_ns, uint64_t at_ns, double value)
{
	while (r->len && at_ns - nth(r, 0)->at_ns > window_ns)
		drop_first(r);
	if (r->len && at_ns - nth(r, r->len - 1U)->at_ns < window_ns / RECENT_VALUES)
		return;
	if (r->len == RECENT_VALUES)
		drop_first(r);
	r->at[(r->first + r->len++) % RECENT_VALUES] = (struct recent_value){ at_ns, value };
}

bool recent_values_earliest(const struct recent_values *r, struct recent_value *ret)
{
	if (!r->len)
		return false;
	*ret = *nth(r, 0);
	return true;
}

static double growth_per_s(const struct recent_value *from, struct recent_value to)
{
	return (to.value - from->value) * (double)NS_PER_S / (double)(to.at_ns - from->at_ns);
}

/* From one of them on; 0: it has not grown since then, or hardly in the second half of the time. */
static double steady_growth(const struct recent_values *r, size_t from, struct recent_value now)
{
	const struct recent_value *first = nth(r, from), *middle = first;
	double whole, late;

	for (size_t i = from; i < r->len; i++)
		if (nth(r, i)->at_ns <= first->at_ns + (now.at_ns - first->at_ns) / 2)
			middle = nth(r, i);
	whole = growth_per_s(first, now);
	late = growth_per_s(middle, now);
	return whole > 0 && late >= whole / 2 ? MIN(whole, late) : 0;
}

double recent_values_growth(const struct recent_values *r, uint64_t least_ns,
                            struct recent_value now)
{
	double growth = 0, most = -INFINITY;

	for (size_t i = 0; i < r->len && growth <= 0; i++) {
		if (now.at_ns < nth(r, i)->at_ns + MAX(least_ns, UINT64_C(1)))
			break;
		if (nth(r, i)->value >= most)
			growth = steady_growth(r, i, now);
		most = MAX(most, nth(r, i)->value);
	}
	return growth;
}
