/* SPDX-License-Identifier: MIT */
/* rpc_turns.h - how the connections of a server share the loop, by user. A turn lasts a millisecond; users
 * that wait take turns by the time that they used, whatever they used it for and however many
 * connections they have. Trusted users go first. The others together get half of the loop's time, so
 * that ticks and trusted users never wait for more than two turns and one call. */
#pragma once

#include <sys/types.h>

#include "base/defs.h"
#include "base/loop.h"

struct rpc_turn;

enum rpc_put_off {
	RPC_FOR_NOTHING,
	RPC_FOR_MEMORY, /* for a large answer */
	RPC_FOR_WORK,   /* until another deferred call of the user is answered */
	RPC_PUT_OFF_COUNT,
};

/* A user with connections, or with time to make up for. */
struct rpc_user {
	struct rpc_user *next;
	uid_t uid;
	bool is_trusted;
	unsigned clients;
	unsigned deferred; /* calls that are answered later, now */
	size_t held;       /* bytes in the buffers of its connections */
	unsigned put_off[RPC_PUT_OFF_COUNT]; /* connections whose call waits for that */
	uint64_t used_ns;  /* of the loop; a user that was idle begins with what others used */
	struct rpc_turn *first, **last; /* connections that wait */
};

/* A connection, as the member of a larger structure. */
struct rpc_turn {
	struct rpc_user *user;
	struct rpc_turn *next;
	bool is_waiting;
};

struct rpc_turns {
	struct loop_source *timer;
	struct rpc_user *users;
	/* Serves a connection until about `until_ns`; it may call rpc_turns_wait() for it. The connection may be
	 * gone afterwards, but not its user. */
	void (*serve)(struct rpc_turn *turn, uint64_t until_ns);
	uint64_t clock_ns;  /* `used_ns` of the user that was served last */
	uint64_t window_ns; /* when the present window began … */
	uint64_t spent_ns;  /* … and what users that are not trusted used of it */
};

void rpc_turns_init(struct rpc_turns *t, struct loop *loop,
                    void (*serve)(struct rpc_turn *turn, uint64_t until_ns));
void rpc_turns_done(struct rpc_turns *t); /* all connections have left */
/* Adds and removes a connection. */
void rpc_turns_enter(struct rpc_turns *t, struct rpc_turn *turn, uid_t uid, bool is_trusted);
void rpc_turns_leave(struct rpc_turns *t, struct rpc_turn *turn);
/* NULL: it has no connections and owes nothing. */
struct rpc_user *rpc_turns_user(const struct rpc_turns *t, uid_t uid);
/* The connection has something to do. True: it was served at once; false: it waits for its turn. */
bool rpc_turns_ask(struct rpc_turns *t, struct rpc_turn *turn);
/* Keeps the connection in line: it has more to do. */
void rpc_turns_wait(struct rpc_turns *t, struct rpc_turn *turn);
