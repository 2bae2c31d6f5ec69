/* SPDX-License-Identifier: MIT */
/* anomaly_stage.h - looks for anomalies in each snapshot, and writes into it what was found: the episodes
 * that last or have just ended, and an event when one begins and when it ends. */
#pragma once

#include "analyze/anomaly_episodes.h"

struct anomaly_stage {
	struct process_history history;
	struct findings findings;
	struct episodes episodes;
};

/* With every look, in their order. A config of zeros: nobody asks, and nothing is done. */
void anomaly_stage_feed(struct anomaly_stage *w, const struct anomaly_config *config,
                        struct snapshot *snap);
/* The last words: what still lasts ends with this snapshot. */
void anomaly_stage_end(struct anomaly_stage *w, struct snapshot *snap);
/* As jobtab_remove(): what lasts of it is nobody's. */
void anomaly_stage_remove_job(struct anomaly_stage *w, int32_t job);
bool anomaly_stage_has_open(const struct anomaly_stage *w);
void anomaly_stage_done(struct anomaly_stage *w);
