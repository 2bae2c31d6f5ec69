/* SPDX-License-Identifier: MIT */
/* infer.h - events that no source reported, found by comparing two samples. Part of
 * snapshot_build. */
#pragma once

#include "model/snapshot.h"

/* Steps of the wall clock and time asleep. */
void infer_clocks(const struct sample *prev, const struct sample *cur, struct snapshot *snap);
/* Spawns and exits without an event: used when there is no lifecycle source or it lost some. */
void infer_births_and_ends(const struct sample *prev, const struct sample *cur,
                           struct snapshot *snap);
