/* SPDX-License-Identifier: MIT */
/* connector_receiver.h - receives the proc connector's events, in order, and counts what is lost.
 *
 * The kernel queues an event in the buffer of a socket, or drops it when that is full. A plain user's
 * buffer is limited by net.core.rmem_max, so the events are spread over several sockets, and while many
 * come, a thread moves them into memory of ours. That thread only receives: nothing about a process can
 * make it wait.
 *
 * Used by one thread besides its own. */
#pragma once

#include "base/err.h"
#include "probe/lifecycle/connector_message.h"

struct connector_receiver;

#define CONNECTOR_RECEIVER_BYTES (16 << 20) /* wanted for all buffers together: 20,000 events */

/* Fails unless events of our own were received. A socket's buffer has socket_bytes, or what the kernel
 * permits; with less than the above there are up to 8 sockets. */
int connector_receiver_open(int socket_bytes, struct connector_receiver **ret, struct err *err)
	must_check;
void connector_receiver_close(struct connector_receiver *r); /* NULL is fine */
DEFINE_CLEANUP(struct connector_receiver *, connector_receiver_close)
/* Readable while there are events to take. */
int connector_receiver_fd(const struct connector_receiver *r);
/* The oldest events: how many, or -errno. Fewer than max: these are all that happened before the
 * call. */
int connector_receiver_take(struct connector_receiver *r, struct connector_message_event *to,
                            size_t max, struct err *err) must_check;
/* Whether events were lost since this was last asked, and how many; 0: this kernel does not count. */
bool connector_receiver_lost(struct connector_receiver *r, uint64_t *ret_count);
/* The room of all sockets together. */
int connector_receiver_buffer_bytes(const struct connector_receiver *r);
