/* SPDX-License-Identifier: MIT */
#include "base/timeline.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#define STEP_LEAST_NS                                                                              \
	((int64_t)(100 * NS_PER_MS)) /* the two clocks are not read at the same time */

/* The wall time at 0 of the boot clock; 0: not known yet. It is state of the whole process, as its clocks are. */
static _Atomic uint64_t origin_ns;

static uint64_t read_origin_ns(void)
{
	struct timespec ts;
	uint64_t boot_ns = clock_boot_ns();

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec - boot_ns;
}

uint64_t timeline_now_ns(void)
{
	uint64_t origin = atomic_load_explicit(&origin_ns, memory_order_relaxed);

	if (!origin) {
		uint64_t found = read_origin_ns();

		/* Another thread may have been the first. */
		if (atomic_compare_exchange_strong(&origin_ns, &origin, found))
			origin = found;
	}
	return origin + clock_boot_ns();
}

void timeline_follow(void)
{
	uint64_t origin = read_origin_ns();

	if (llabs((int64_t)(origin - atomic_load(&origin_ns))) >= STEP_LEAST_NS)
		atomic_store(&origin_ns, origin);
}
