/* SPDX-License-Identifier: MIT */
/* bus_feed.h - the bus as the feed of a connection: each event is a notification `bus.event`, and
 * the loss of overwritten events is `bus.lagged`. */
#pragma once

#include "engine/bus.h"
#include "rpc/rpc_server.h"

struct rpc_server_feed bus_feed_new(struct bus *bus, struct bus_cursor from,
                                    const struct bus_filter *filter);
