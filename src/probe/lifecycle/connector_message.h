/* SPDX-License-Identifier: MIT */
/* connector_message.h - the proc connector's messages: bytes of a netlink datagram in, one event out. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/process.h"

enum connector_message_kind {
	CONNECTOR_MESSAGE_ACK, /* the answer to a request; status: an errno value, 0 when granted */
	CONNECTOR_MESSAGE_FORK,
	CONNECTOR_MESSAGE_EXEC,
	CONNECTOR_MESSAGE_EXIT,
	CONNECTOR_MESSAGE_COMM,
	CONNECTOR_MESSAGE_UID,
	CONNECTOR_MESSAGE_OTHER,
};

struct connector_message_event {
	enum connector_message_kind kind;
	uint32_t cpu;
	uint32_t seq;     /* counts all events of that CPU: a gap is a loss */
	uint32_t nonce;   /* ack: of the request */
	uint64_t mono_ns; /* when, on the monotonic clock */
	pid_t pid, tgid;  /* a thread when they differ */
	pid_t parent;     /* fork: the process that forked */
	uint32_t status;  /* exit: as wait4 gives it */
	uint32_t uid;     /* uid: the new effective one */
	char comm[COMM_LEN];
};

#define CONNECTOR_MESSAGE_REQUEST_BYTES 40

/* The request to receive events, or no more of them. All listeners receive the answer: the nonce
 * identifies the request. */
size_t connector_message_request(bool listen, uint32_t nonce,
                                 char to[static CONNECTOR_MESSAGE_REQUEST_BYTES]);
bool connector_message_parse(const void *datagram, size_t len, struct connector_message_event *ret);
