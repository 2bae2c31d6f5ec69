/* SPDX-License-Identifier: MIT */
#include "engine/loss_notice.h"

#include "base/clock.h"

#define TOLD_EVERY_NS (60 * NS_PER_S)

bool loss_notice_feed(struct loss_notice *l, uint64_t lost, uint64_t now_ns)
{
	if (lost <= l->told || (l->told_ns && now_ns - l->told_ns < TOLD_EVERY_NS))
		return false;
	l->told = lost;
	l->told_ns = now_ns;
	return true;
}
