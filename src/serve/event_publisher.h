/* SPDX-License-Identifier: MIT */
/* event_publisher.h - publishes the events of a snapshot on the bus: `process.spawn`, `process.exit`,
 * … with the keys of daemon.events, marks and phases of jobs as `job.mark` and `job.phase`, and
 * `monitor.anomaly` when one begins or ends. */
#pragma once

#include "engine/bus.h"
#include "model/snapshot.h"

/* The user that an event belongs to: the owner of its job, else of its process. */
uid_t event_publisher_owner(const struct snapshot *snap, const struct event *e);
/* `scratch` is reused. */
void event_publisher_publish(struct bus *bus, const struct snapshot *snap, struct buf *scratch);
