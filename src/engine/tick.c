/* SPDX-License-Identifier: MIT */
#include "engine/tick.h"

uint64_t tick_next(uint64_t planned_ns, uint64_t now_ns, uint64_t interval_ns, uint64_t *ret_missed)
{
	uint64_t late_ns = now_ns > planned_ns ? now_ns - planned_ns : 0;

	*ret_missed = late_ns / interval_ns;
	return planned_ns + (*ret_missed + 1) * interval_ns;
}
