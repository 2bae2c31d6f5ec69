/* SPDX-License-Identifier: MIT */
/* run_note.h - the anomalies that are worth a line at the end of a run: the most severe, then the
 * first. */
#pragma once

#include "model/anomaly.h"
#include "view/facts.h"

#define RUN_NOTES 3

struct run_notes {
	struct anomaly worst[RUN_NOTES];
	size_t n;
	uint64_t more; /* those that have no place */
};

/* Takes those that have ended, if they are severe enough. */
void run_notes_add(struct run_notes *notes, const struct anomaly *a);
void run_notes_put(const struct run_notes *notes, const struct style *style, struct facts *f);
