/* SPDX-License-Identifier: MIT */
/* socket_peer.h - the process at the other end of a socket. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/scan.h"

#define SOCKET_ADDRESS_MAX 128

struct socket_peer {
	char address[SOCKET_ADDRESS_MAX]; /* "10.0.0.1:5432", "/run/x.sock"; "": it has none */
	bool is_own; /* the address: it is not connected */
	uint64_t inode; /* of the socket at the other end, if it is on this machine; 0: not known */
};

/* The socket of that inode, which a process has open. False: it is of another kind, or gone. */
bool socket_peer_find(int root_fd, pid_t pid, uint64_t inode, struct socket_peer *ret);
/* In the text of /proc/PID/net/tcp, tcp6, udp or udp6. */
bool socket_peer_parse(struct scan table, uint64_t inode, struct socket_peer *ret);
