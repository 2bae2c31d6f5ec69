/* SPDX-License-Identifier: MIT */
/* rpc_session.h - one connection of a server: lines in, answers and a feed out, never blocking, within the turns and the
 * memory of its user. Methods defer and complete their answers here; which connections there are is the
 * business of rpc_server.c. */
#pragma once

#include "base/loop.h"
#include "rpc/rpc_method.h"
#include "rpc/rpc_turns.h"

/* ---- for methods ----------------------------------------------------------------------------- */

/* Called by a method before it returns RPC_SERVER_LATER. */
void rpc_session_defer(struct rpc_session *s, const struct rpc_server_work *take_work);
/* False: the user, who is not trusted, waits for an answer already. One that may be large comes after that. */
bool rpc_session_may_defer(const struct rpc_session *s);
/* Sends the deferred answer. Called on the loop, but not from a method of the same connection. `r`
 * and `err` are what the method would have returned, `result` is the text of the value. */
void rpc_session_answer(struct rpc_session *s, int r, const struct buf *result,
                        const struct err *err);
/* Calls the method that returned -EINPROGRESS again. Where that is allowed: see rpc_session_answer(). */
void rpc_session_call_again(struct rpc_session *s);
/* Called by a method: gives the connection a feed, which starts after the method's answer. An
 * earlier feed is closed. */
void rpc_session_set_feed(struct rpc_session *s, const struct rpc_server_feed *take_feed);
/* The connection's feed; its `next` is NULL if there is none. */
const struct rpc_server_feed *rpc_session_feed(const struct rpc_session *s);

/* ---- for the server -------------------------------------------------------------------------- */

/* The connections of one server, and what they share. */
struct rpc_sessions {
	struct loop *loop;
	const struct rpc_server_method *methods;                /* ends with a NULL name */
	void *self;                                             /* passed to them */
	uint64_t half_line_ns, slow_reader_ns, large_answer_ns; /* see rpc_server.h */
	struct rpc_turns turns;
	struct loop_source
		*waker; /* a timer that resumes those that are held up; NULL: the server closes */
	struct rpc_session *first; /* the newest */
	size_t held;               /* bytes in the buffers of users that are not trusted */
};

/* NULL: the loop has no room for it; take_fd is closed. */
struct rpc_session *rpc_session_new(struct rpc_sessions *all, int take_fd,
                                    const struct rpc_server_peer *peer, bool is_trusted);
void rpc_session_free(struct rpc_session *s); /* removes it from the list, too */
struct rpc_session *rpc_session_next(const struct rpc_session *s);
struct rpc_session *rpc_session_of_turn(struct rpc_turn *turn);
struct rpc_sessions *rpc_session_all(const struct rpc_session *s);
const struct rpc_user *rpc_session_user(const struct rpc_session *s);
/* One turn: sends, reads and answers, and sets what the loop waits for. False: the connection is over. */
bool rpc_session_serve(struct rpc_session *s, uint64_t until_ns);
/* Asks for a turn if it was held up, or if its feed may have news. It may be freed by that. */
void rpc_session_resume(struct rpc_session *s, bool has_news);
/* Sends answers and events that wait, as far as there is room for them. */
void rpc_session_send_rest(struct rpc_session *s);
/* Sends a last error, as far as there is room for it. */
void rpc_session_refuse(struct rpc_session *s, int code, const char *why);
/* Whether it has a feed, or a call that is not answered. */
bool rpc_session_is_used(const struct rpc_session *s);
uint64_t rpc_session_active_ns(const struct rpc_session *s); /* when it was last served */
/* Whether the client has begun a line, or does not read its answer. */
bool rpc_session_is_slow(const struct rpc_session *s);
/* Whether it was slow for too long and has to be disconnected. Called once per sweep. */
bool rpc_session_is_too_slow(struct rpc_session *s, uint64_t now_ns);
