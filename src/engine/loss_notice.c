/* SPDX-License-Identifier: MIT */
#include "engine/loss_notice.h"

#include "base/clock.h"

#define REPORT_EVERY_NS (60 * NS_PER_S)

bool loss_notice_feed(struct loss_notice *l, uint64_t lost, uint64_t now_ns)
{
	if (lost <= l->reported || (l->reported_ns && now_ns - l->reported_ns < REPORT_EVERY_NS))
		return false;
	l->reported = lost;
	l->reported_ns = now_ns;
	return true;
}
