/* SPDX-License-Identifier: MIT */
/* connector_kit.h - messages of the proc connector as the kernel writes them, processes that make some,
 * and the sockets of this process that receive them. */
#pragma once

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define CONNECTOR_KIT_BYTES 256

/* Of CPU 3. Returns its length. */
static inline size_t connector_kit_message(char to[static CONNECTOR_KIT_BYTES], uint32_t what,
                                           uint32_t seq, const void *data, size_t len)
{
	struct cn_msg cn = { .id = { CN_IDX_PROC, CN_VAL_PROC },
		             .seq = seq,
		             .len = sizeof(struct proc_event) };
	struct nlmsghdr nl = { .nlmsg_len = NLMSG_HDRLEN + sizeof cn + sizeof(struct proc_event) };
	struct proc_event event = { .cpu = 3, .timestamp_ns = 123456789 };

	memcpy(&event, &what, sizeof what);
	memcpy(&event.event_data, data, len);
	memset(to, 0, CONNECTOR_KIT_BYTES);
	memcpy(to, &nl, sizeof nl);
	memcpy(to + NLMSG_HDRLEN, &cn, sizeof cn);
	memcpy(to + NLMSG_HDRLEN + sizeof cn, &event, sizeof event);
	return nl.nlmsg_len;
}

/* Children that end at once, one after the other: two events each. */
static inline void connector_kit_spawn(int n)
{
	for (volatile int i = 0; i < n; i++) { /* vfork comes back twice */
		pid_t child = vfork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

/* The next socket of this process that listens to the connector, from fd on; -1: there is none. */
static inline int connector_kit_socket(int fd)
{
	for (; fd < 64; fd++) {
		int protocol;
		socklen_t len = sizeof protocol;

		if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) == 0 &&
		    protocol == NETLINK_CONNECTOR)
			return fd;
	}
	return -1;
}

static inline size_t connector_kit_queued_bytes(void)
{
	size_t bytes = 0;

	for (int fd = 0; (fd = connector_kit_socket(fd)) >= 0; fd++) {
		uint32_t info[SK_MEMINFO_VARS] = { 0 };
		socklen_t len = sizeof info;

		assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len), 0);
		bytes += info[SK_MEMINFO_RMEM_ALLOC];
	}
	return bytes;
}

/* The kernel doubles it. */
static inline void connector_kit_set_buffers(int bytes)
{
	for (int fd = 0; (fd = connector_kit_socket(fd)) >= 0; fd++)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
}
