/* SPDX-License-Identifier: MIT */
/* pattern_review.h - what an analysis changes in the stored patterns: those that it found are stored, those that jobs
 * since then contradict are retired, all others stay as they are. */
#pragma once

#include "report/insights.h"

/* Appends what is to be stored. Jobs that ended after a pattern was last seen contradict it when
 *  - of a correlation: the difference of their failure rates is smaller than its interval, with 95 % confidence;
 *  - of an anomaly: none of them had it, and that had a probability of less than 5 %. */
void pattern_review(const struct insights *in, const struct patterns *stored, uint64_t now_ns,
                    struct patterns *ret);
