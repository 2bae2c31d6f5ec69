/* SPDX-License-Identifier: MIT */
/* announce.h - what a snapshot tells that happened, onto the bus: `process.spawn`, `process.exit`,
 * … with the keys of daemon.events, and marks and phases of jobs as `job.mark`, `job.phase`. */
#pragma once

#include "engine/bus.h"
#include "model/snapshot.h"

/* `scratch` is used again and again. */
void announce_events(struct bus *bus, const struct snapshot *snap, struct buf *scratch);
