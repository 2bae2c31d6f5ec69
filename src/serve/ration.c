/* SPDX-License-Identifier: MIT */
#include "serve/ration.h"

#include "base/clock.h"

static uint64_t time_of(uint64_t bytes)
{
	return bytes * NS_PER_S / RATION_BYTES_PER_S;
}

bool ration_take(struct ration *r, uid_t uid, size_t bytes, uint64_t now_ns)
{
	uint64_t due_ns = 0;

	(void)map_get(&r->due_ns, uid, &due_ns);
	due_ns = MAX(due_ns, now_ns) + time_of(bytes);
	if (due_ns - now_ns > time_of(RATION_BURST_BYTES))
		return false;
	map_put(&r->due_ns, uid, due_ns);
	return true;
}

void ration_done(struct ration *r)
{
	map_done(&r->due_ns);
}
