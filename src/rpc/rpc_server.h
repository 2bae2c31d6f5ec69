/* SPDX-License-Identifier: MIT */
/* rpc_server.h - answers JSON-RPC on a listening socket, on the loop, without ever waiting for a
 * client. What the methods mean is the business of the table it is given. Who sends half a line and
 * stops, or reads nothing, is cut; a client that does not read its answers is not read either, so
 * what is kept for one is bounded by one line and one answer. */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"

#define RPC_SERVER_REPLY_MAX ((size_t)32 << 20)

struct rpc_server;

struct rpc_session;

/* Who connected, as the kernel says. */
struct rpc_server_peer {
	pid_t pid; /* 0: in a pid namespace that we do not see */
	uid_t uid;
	gid_t gid;
	struct rpc_session *session; /* where rpc_server_feed() and rpc_server_answer() send to */
};

#define RPC_SERVER_LATER 1

struct rpc_server_method {
	const char *name;
	/* Writes one value to `result`, or returns -errno and says why: rpc_message.h tells what the
	 * client sees then. params is an object or NULL. It must not close the server. What takes
	 * long is begun here, given to rpc_server_defer(), and RPC_SERVER_LATER is returned. */
	int (*call)(void *self, const struct rpc_server_peer *peer, const json_t *params,
	            struct json *result, struct err *err);
};

/* An answer that is being worked on. The caller's further lines wait for it, so that one connection
 * has one at most; its feed goes on. It ends with rpc_server_answer(), or else with this. */
struct rpc_server_work {
	void *self;
	void (*abandon)(void *self); /* nobody waits for it any more */
};

/* What a connection gets besides its answers. It is asked when there is room, so a client that does
 * not read costs no more than one that does. */
struct rpc_server_feed {
	void *self;
	bool (*next)(void *self, struct json *out); /* one whole line; false: nothing now */
	void (*close)(void *self);
};

struct rpc_server_options {
	const struct rpc_server_method *methods; /* the last has no name */
	void *self;                              /* given to them and to admits */
	/* Who may connect at all; NULL: everybody. */
	bool (*admits)(void *self, const struct rpc_server_peer *peer);
	unsigned clients_max;
	unsigned clients_per_uid_max; /* root excepted; 0: no limit of its own */
	uint64_t half_line_ns;        /* time to finish a line that began; 0: 5 s */
	uint64_t slow_reader_ns;      /* time to take something of an answer; 0: 60 s */
};

/* take_fd listens and does not block; it is closed on failure too. */
int rpc_server_open(struct loop *loop, int take_fd, const struct rpc_server_options *options,
                    struct rpc_server **ret, struct err *err) must_check;
void rpc_server_close(struct rpc_server *server); /* ends all connections; NULL is fine */
DEFINE_CLEANUP(struct rpc_server *, rpc_server_close)
unsigned rpc_server_clients(const struct rpc_server *server);
/* Called by a method that returns RPC_SERVER_LATER then. */
void rpc_server_defer(const struct rpc_server_peer *peer, const struct rpc_server_work *take_work);
/* On the loop, and not within a method of the same connection: the answer to what was deferred. r
 * and err are what the method would have returned, `result` is the text of the value. */
void rpc_server_answer(struct rpc_session *session, int r, const struct buf *result,
                       const struct err *err);
/* Called by a method: its caller is fed from now on, after the method's answer. One that it had
 * before is closed. */
void rpc_server_feed(const struct rpc_server_peer *peer, const struct rpc_server_feed *take_feed);
/* The one it has; without `next`: none. */
const struct rpc_server_feed *rpc_server_feed_of(const struct rpc_server_peer *peer);
/* Feeds have something new. */
void rpc_server_wake(struct rpc_server *server);
