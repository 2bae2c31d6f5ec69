/* SPDX-License-Identifier: MIT */
#include "engine/tick_time.h"

#include "base/clock.h"
#include "base/defs.h"

#define SHORTEST_NS (50 * NS_PER_MS)
#define TICKS_PER_AGE 10
#define GAP_MIN_NS NS_PER_S

uint64_t tick_time_next(uint64_t planned_ns, uint64_t now_ns, uint64_t interval_ns,
                        uint64_t *ret_missed)
{
	uint64_t late_ns = now_ns > planned_ns ? now_ns - planned_ns : 0;

	*ret_missed = late_ns / interval_ns;
	return planned_ns + (*ret_missed + 1) * interval_ns;
}

bool tick_time_is_gap(uint64_t late_ns, uint64_t interval_ns)
{
	return late_ns >= MAX(interval_ns, GAP_MIN_NS);
}

uint64_t tick_time_interval(uint64_t age_ns, uint64_t longest_ns)
{
	return MIN(longest_ns, MAX(SHORTEST_NS, age_ns / TICKS_PER_AGE));
}
