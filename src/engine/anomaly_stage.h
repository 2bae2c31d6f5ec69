/* SPDX-License-Identifier: MIT */
/* anomaly_stage.h - detects anomalies in each snapshot and adds them to it: the episodes that last or
 * have just ended, and an event when one begins and when it ends. */
#pragma once

#include "analyze/anomaly_episodes.h"

struct anomaly_stage {
	struct anomaly_config config; /* zeros: nothing is detected */
	struct process_history history;
	struct findings findings;
	struct episodes episodes;
};

/* A stage, for ticks and flushes: compares each tick with the history, and ends open episodes with the
 * last flush. */
void anomaly_stage_run(void *self, struct snapshot *snap);
void anomaly_stage_done(struct anomaly_stage *stage);
