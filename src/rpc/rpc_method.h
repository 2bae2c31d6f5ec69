/* SPDX-License-Identifier: MIT */
/* rpc_method.h - what a method of an RPC server receives and may return. rpc_session.h has the functions for deferred answers
 * and feeds. */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"

#define RPC_SERVER_REPLY_MAX ((size_t)32 << 20)

struct rpc_session;

/* The client, by the kernel's credentials (SO_PEERCRED). */
struct rpc_server_peer {
	pid_t pid; /* 0: in a pid namespace that we cannot see */
	uid_t uid;
	gid_t gid;
	struct rpc_session *session; /* for rpc_session_answer() */
};

#define RPC_SERVER_LATER 1  /* the answer comes later */
#define RPC_SERVER_STREAM 2 /* no answer: the connection has a feed now, which takes its place */
#define RPC_SERVER_WAIT 3   /* it is to be called again after the user's other deferred answer */

struct rpc_server_method {
	const char *name;
	/* Writes one value to `result`, or returns -errno with a message; rpc_message.h maps them to
	 * what the client sees. `params` is an object or NULL. A method must not close the server.
	 * Slow work is started here and registered with rpc_session_defer(); the method then returns
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
 * its feed continues. It ends with rpc_session_answer(), rpc_session_call_again() or abandon(). */
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
