/* SPDX-License-Identifier: MIT */
/* run_anomalies.h - the anomalies that are worth a line at the end of a run: the most severe, then the
 * first. */
#pragma once

#include "model/anomaly.h"
#include "view/facts.h"

#define RUN_ANOMALIES 3

struct run_anomalies {
	struct anomaly worst[RUN_ANOMALIES];
	size_t n;
	uint64_t more; /* those that have no place */
};

/* Takes those that have ended, if they are severe enough. */
void run_anomalies_add(struct run_anomalies *notes, const struct anomaly *a);
void run_anomalies_put(const struct run_anomalies *notes, const struct canvas *to, struct facts *f);
