/* SPDX-License-Identifier: MIT */
/* watch.h - looks for anomalies in each snapshot, and writes into it what was found: the episodes
 * that last or have just ended, and an event when one begins and when it ends. */
#pragma once

#include "analyze/episodes.h"

struct watch {
	struct history history;
	struct findings findings;
	struct episodes episodes;
};

/* With every look, in their order. A config of zeros: nobody asks, and nothing is done. */
void watch_feed(struct watch *w, const struct anomaly_config *config, struct snapshot *snap);
/* The last words: what still lasts ends with this snapshot. */
void watch_end(struct watch *w, struct snapshot *snap);
/* As jobtab_remove(): what lasts of it is nobody's. */
void watch_remove_job(struct watch *w, int32_t job);
bool watch_has_open(const struct watch *w);
void watch_done(struct watch *w);
