/* SPDX-License-Identifier: MIT */
/* rpc_server.h - answers JSON-RPC on a listening socket, on the loop, and never waits for a client.
 * The methods are given to it as a table. A client that stops in the middle of a line, or reads
 * nothing, is disconnected. While a client does not read its answers, its requests are not read
 * either.
 *
 * No user can keep others waiting: users take turns by the time that they use (rpc_turns.h). Memory is
 * bounded by user, too: a connection may always hold a few KiB, and beyond that a user has 2 MiB plus
 * one line and two answers, and all users have 24 MiB plus that. Calls with large answers wait until
 * enough of the others was read. Trusted users are exempt. */
#pragma once

#include "base/err.h"
#include "base/loop.h"
#include "rpc/rpc_method.h"

struct rpc_server;

struct rpc_server_options {
	const struct rpc_server_method *methods; /* ends with a NULL name */
	void *self;                              /* passed to the functions */
	/* Whether the client may connect at all; NULL: every client may. */
	bool (*admits)(void *self, const struct rpc_server_peer *peer);
	/* Whether the client takes precedence, without limits except the number of connections;
	 * NULL: every client does. */
	bool (*trusts)(void *self, const struct rpc_server_peer *peer);
	/* A connection has ended; may be NULL. */
	void (*left)(void *self);
	/* Some are kept for trusted users. If the others have run out, a user that has more connections than
	 * the one that comes loses the one that has been idle for longest. */
	unsigned clients_max;
	unsigned clients_per_uid_max; /* except trusted users; 0: no limit */
	uint64_t half_line_ns;        /* time to finish a line; 0: 5 s */
	uint64_t slow_reader_ns;      /* time to read any part of an answer; 0: 60 s */
	uint64_t
		large_answer_ns; /* … after which a large one must be read steadily, except by trusted users; 0: 5 s */
};

/* take_fd is a non-blocking listening socket; it is closed on failure too. -1: there is none, and clients come by
 * rpc_server_adopt(). */
int rpc_server_open(struct loop *loop, int take_fd, const struct rpc_server_options *options,
                    struct rpc_server **ret, struct err *err) must_check;
/* Serves a socket that is connected already, with the same checks. */
void rpc_server_adopt(struct rpc_server *server, int take_fd);
/* Sends what waits, as far as the sockets have room, and closes all connections; NULL is fine. */
void rpc_server_close(struct rpc_server *server);
DEFINE_CLEANUP(struct rpc_server *, rpc_server_close)
unsigned rpc_server_clients(const struct rpc_server *server);
/* Notifies all connections with feeds that there is something new. */
void rpc_server_wake(struct rpc_server *server);
