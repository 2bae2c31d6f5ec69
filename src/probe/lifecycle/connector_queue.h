/* SPDX-License-Identifier: MIT */
/* connector_queue.h - events of the proc connector, from several sockets, in the order in which they
 * happened. Pure.
 *
 * A socket gives a part of the events. Those of one process have ascending times, and each is queued
 * before the next one happens: a birth is queued before the child runs. So if all sockets were emptied
 * after a moment, then of any two such events up to that moment both are there or the earlier one is.
 * What is later waits for the next round. */
#pragma once

#include "base/vec.h"
#include "probe/lifecycle/connector_message.h"

#define CONNECTOR_QUEUE_MAX ((size_t)1 << 18) /* 18 MiB */

struct connector_queue {
	VEC(struct connector_message_event) events; /* taken, ready, and then not yet in order */
	size_t taken, ready;                        /* both from the beginning */
	uint64_t dropped;                           /* at the ceiling, since it was asked for */
};

void connector_queue_done(struct connector_queue *q);
void connector_queue_add(struct connector_queue *q, const struct connector_message_event *ev);
/* All sockets were emptied after this moment. */
void connector_queue_release(struct connector_queue *q, uint64_t until_mono_ns);
/* Everything that was added is in order already. */
void connector_queue_release_all(struct connector_queue *q);
bool connector_queue_is_empty(const struct connector_queue *q);
/* How many may be taken. */
size_t connector_queue_ready(const struct connector_queue *q);
size_t connector_queue_take(struct connector_queue *q, struct connector_message_event *to,
                            size_t max);
