/* SPDX-License-Identifier: MIT */
#include "serve/quota.h"

#include "base/clock.h"

static uint64_t time_of(uint64_t bytes)
{
	return bytes * NS_PER_S / QUOTA_BYTES_PER_S;
}

bool quota_take(struct quota *q, uid_t uid, size_t bytes, uint64_t now_ns)
{
	uint64_t due_ns = 0;

	(void)map_get(&q->due_ns, uid, &due_ns);
	due_ns = MAX(due_ns, now_ns) + time_of(bytes);
	if (due_ns - now_ns > time_of(QUOTA_BURST_BYTES))
		return false;
	map_put(&q->due_ns, uid, due_ns);
	return true;
}

void quota_done(struct quota *q)
{
	map_done(&q->due_ns);
}
