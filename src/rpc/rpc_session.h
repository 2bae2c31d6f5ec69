/* SPDX-License-Identifier: MIT */
/* rpc_session.h - one connection to a server: lines in, answers out, never blocking. For rpc_server.c
 * only. */
#pragma once

#include "rpc/rpc_frame.h"
#include "rpc/rpc_server.h"

struct rpc_session {
	struct rpc_server *server;
	struct rpc_session *next;
	int fd;
	struct rpc_server_peer peer;
	struct loop_source *source;
	struct rpc_server_feed feed; /* `next` is NULL: none */
	struct rpc_server_work work; /* `abandon` is NULL: no answer is outstanding */
	json_t *asked;               /* the id of the outstanding answer */
	struct rpc_frames in;
	struct buf out;
	size_t sent;             /* bytes of `out` that were sent */
	uint64_t half_since_ns;  /* when the unfinished line began; 0: there is none */
	uint64_t stuck_since_ns; /* when the client stopped reading; 0: it reads */
	bool ends;               /* nothing more is read; closed when `out` is sent */
};

/* The client's credentials; false: it is gone already. */
bool rpc_session_peer(int fd, struct rpc_server_peer *ret);
struct rpc_session *rpc_session_new(struct rpc_server *server, int take_fd,
                                    const struct rpc_server_peer *peer);
void rpc_session_free(struct rpc_session *s);
/* Sends, reads and answers as far as possible without blocking, and sets what the loop waits for.
 * False: the connection is over. */
bool rpc_session_serve(struct rpc_session *s, const struct rpc_server_options *options);
/* Writes the deferred answer, as rpc_server_answer(); the next rpc_session_serve() sends it. */
void rpc_session_answer(struct rpc_session *s, int r, const struct buf *result,
                        const struct err *err);
/* Whether everything was sent. */
bool rpc_session_is_idle(const struct rpc_session *s);
/* Since when the client has not finished its line or not read its answer; 0: it is not slow. */
uint64_t rpc_session_slow_since(const struct rpc_session *s);
/* Whether the client was slow for too long and has to be disconnected. */
bool rpc_session_is_too_slow(struct rpc_session *s, const struct rpc_server_options *options,
                             uint64_t now_ns);
