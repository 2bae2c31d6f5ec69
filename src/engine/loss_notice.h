/* SPDX-License-Identifier: MIT */
/* loss_notice.h - when to report lost events: at once when it begins, and then once a minute. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loss_notice {
	uint64_t reported;    /* the number in the last report */
	uint64_t reported_ns; /* 0: never */
};

/* `lost` is the total so far. True: report it. */
bool loss_notice_feed(struct loss_notice *l, uint64_t lost, uint64_t now_ns);
