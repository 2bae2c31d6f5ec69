/* SPDX-License-Identifier: MIT */
/* anomaly_episodes.h - findings from tick to tick → episodes: each begins once, its peak is followed, its
 * severity only rises, and it ends with the first tick that does not find it any more. */
#pragma once

#include "analyze/anomaly_rules.h"

#define EPISODES_MAX 128 /* at a time; what comes on top is counted */

struct episode {
	struct anomaly a;
	double reported_peak;
	bool is_found;  /* in this tick */
	job_handle job; /* a.job is the index in the snapshot where it was found last */
};

struct episodes {
	VEC(struct episode) open;
	uint64_t seq;     /* of the latest one */
	uint64_t dropped; /* findings beyond EPISODES_MAX */
};

/* Both append to `ret`: those that are open, and those that have just ended; `news` tells them
 * apart. A flush (snap->events_only) appends nothing. */
void anomaly_episodes_feed(struct episodes *e, const struct findings *found,
                           const struct snapshot *snap, struct anomaly_list *ret);
/* Ticks are over: all that are open end now. */
void anomaly_episodes_end(struct episodes *e, const struct snapshot *snap,
                          struct anomaly_list *ret);
void anomaly_episodes_done(struct episodes *e);
