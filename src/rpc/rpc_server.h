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

#include <jansson.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"

#define RPC_SERVER_REPLY_MAX ((size_t)32 << 20)

struct rpc_server;
struct rpc_session;

/* The client, by the kernel's credentials (SO_PEERCRED). */
struct rpc_server_peer {
	pid_t pid; /* 0: in a pid namespace that we cannot see */
	uid_t uid;
	gid_t gid;
	struct rpc_session *session; /* for rpc_server_answer() */
};

#define RPC_SERVER_LATER 1  /* the answer comes later */
#define RPC_SERVER_STREAM 2 /* no answer: the connection has a feed now, which takes its place */
#define RPC_SERVER_WAIT 3   /* it is to be called again after the user's other deferred answer */

struct rpc_server_method {
	const char *name;
	/* Writes one value to `result`, or returns -errno with a message; rpc_message.h maps them to
	 * what the client sees. `params` is an object or NULL. A method must not close the server.
	 * Slow work is started here and registered with rpc_server_defer(); the method then returns
	 * RPC_SERVER_LATER, or -EINPROGRESS if it is to be called again when the work is done.
	 * A parameter `nulls` is for the server itself: with "omit", members that
	 * are null are left out of the answer, and of the feed that the method starts. */
	int (*call)(void *self, const struct rpc_server_peer *peer, const json_t *params,
	            struct json *result, struct err *err);
	/* A notification has no effect, and is not executed. The answer may be large; if there is no memory for it
	 * now, the method is called again. */
	bool only_reads;
};

/* A deferred answer. The connection's further lines wait for it, so each connection has at most one;
 * its feed continues. It ends with rpc_server_answer(), rpc_server_call_again() or abandon(). */
struct rpc_server_work {
	void *self;
	void (*abandon)(void *self); /* the client is gone */
	bool keeps_order; /* further lines wait for it even if the client is gone, or needs no answer */
};

/* Notifications for a connection. next() is called only when the socket has room, so a client that
 * does not read costs no more than one that does. */
struct rpc_server_feed {
	void *self;
	bool (*next)(void *self, struct json *out); /* writes one line; false: nothing new */
	void (*close)(void *self);
	bool is_large; /* its lines are */
};

struct rpc_server_options {
	const struct rpc_server_method *methods; /* ends with a NULL name */
	void *self;                              /* passed to the functions */
	/* Whether the client may connect at all; NULL: every client may. */
	bool (*admits)(void *self, const struct rpc_server_peer *peer);
	/* Whether it goes first, and without limits but the number of connections; NULL: every client does. */
	bool (*trusts)(void *self, const struct rpc_server_peer *peer);
	/* A connection has ended; NULL: nobody cares. */
	void (*left)(void *self);
	/* Some are kept for trusted users. If the others have run out, a user that has more connections than
	 * the one that comes loses the one that has been idle for longest. */
	unsigned clients_max;
	unsigned clients_per_uid_max; /* except trusted users; 0: no limit */
	uint64_t half_line_ns;        /* time to finish a line; 0: 5 s */
	uint64_t slow_reader_ns;      /* time to read any part of an answer; 0: 60 s */
	uint64_t large_answer_ns;     /* … after which a large one must be read steadily, except by trusted users; 0: 5 s */
};

/* take_fd is a non-blocking listening socket; it is closed on failure too. -1: there is none, and clients come by
 * rpc_server_adopt(). */
int rpc_server_open(struct loop *loop, int take_fd, const struct rpc_server_options *options,
                    struct rpc_server **ret, struct err *err) must_check;
/* Serves a socket that is connected already, with the same checks. */
void rpc_server_adopt(struct rpc_server *server, int take_fd);
void rpc_server_close(struct rpc_server *server); /* closes all connections; NULL is fine */
DEFINE_CLEANUP(struct rpc_server *, rpc_server_close)
unsigned rpc_server_clients(const struct rpc_server *server);
/* The most bytes that the buffers of clients that are not trusted ever had together. */
size_t rpc_server_held_max(const struct rpc_server *server);
/* Called by a method before it returns RPC_SERVER_LATER. */
void rpc_server_defer(const struct rpc_server_peer *peer, const struct rpc_server_work *take_work);
/* False: the user, who is not trusted, waits for an answer already. One that may be large comes after that. */
bool rpc_server_may_defer(const struct rpc_server_peer *peer);
/* Sends the deferred answer. Called on the loop, but not from a method of the same connection. `r`
 * and `err` are what the method would have returned, `result` is the text of the value. */
void rpc_server_answer(struct rpc_session *session, int r, const struct buf *result,
                       const struct err *err);
/* Calls the method that returned -EINPROGRESS again. Where that is allowed: see rpc_server_answer(). */
void rpc_server_call_again(struct rpc_session *session);
/* Called by a method: gives the connection a feed, which starts after the method's answer. An
 * earlier feed is closed. */
void rpc_server_feed(const struct rpc_server_peer *peer, const struct rpc_server_feed *take_feed);
/* The connection's feed; its `next` is NULL if there is none. */
const struct rpc_server_feed *rpc_server_feed_of(const struct rpc_server_peer *peer);
/* The feeds have something new. */
void rpc_server_wake(struct rpc_server *server);
