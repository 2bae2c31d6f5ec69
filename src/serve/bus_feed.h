/* SPDX-License-Identifier: MIT */
/* bus_feed.h - the bus for one connection: each event as a notification `bus.event`, and what was
 * overwritten before it could be read as `bus.lagged`. */
#pragma once

#include "engine/bus.h"
#include "rpc/rpc_server.h"

struct rpc_server_feed bus_feed_new(struct bus *bus, struct bus_cursor from,
                                    const struct bus_filter *filter);
