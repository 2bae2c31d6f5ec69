/* SPDX-License-Identifier: MIT */
/* loss_notice.h - when to tell that events were lost: at once when it begins, and while it goes on once
 * a minute. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loss_notice {
	uint64_t told;    /* how many, the last time */
	uint64_t told_ns; /* 0: never */
};

/* So many were lost up to now. True: say so. */
bool loss_notice_feed(struct loss_notice *l, uint64_t lost, uint64_t now_ns);
