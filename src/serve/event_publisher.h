/* SPDX-License-Identifier: MIT */
/* event_publisher.h - what a snapshot tells that happened, onto the bus: `process.spawn`, `process.exit`,
 * … with the keys of daemon.events, marks and phases of jobs as `job.mark`, `job.phase`, and
 * `monitor.anomaly` as one begins and ends. */
#pragma once

#include "engine/bus.h"
#include "model/snapshot.h"

/* Whose business an event is: a job's is its owner's, whoever its processes are; and theirs whose
 * processes they are. */
uid_t event_publisher_owner(const struct snapshot *snap, const struct event *e);
/* `scratch` is used again and again. */
void event_publisher_events(struct bus *bus, const struct snapshot *snap, struct buf *scratch);
