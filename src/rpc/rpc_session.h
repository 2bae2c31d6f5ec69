/* SPDX-License-Identifier: MIT */
/* rpc_session.h - one connection to a server: lines in, answers out, nothing that waits. For rpc_server.c
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
	struct rpc_server_feed feed; /* without `next`: none */
	struct rpc_server_work work; /* without `abandon`: no answer is outstanding */
	json_t *asked;               /* the id that the outstanding answer is for */
	struct rpc_frames in;
	struct buf out;
	size_t sent;             /* bytes of out that are gone */
	uint64_t half_since_ns;  /* since when a line is half there; 0: none is */
	uint64_t stuck_since_ns; /* since when nothing of out was taken; 0: out is empty */
	bool ends;               /* nothing more is read; it goes when out is sent */
};

/* The credentials of who connected; false: it is gone already. */
bool rpc_session_peer(int fd, struct rpc_server_peer *ret);
struct rpc_session *rpc_session_new(struct rpc_server *server, int take_fd,
                                    const struct rpc_server_peer *peer);
void rpc_session_free(struct rpc_session *s);
/* Sends, reads, answers as far as it goes without waiting, and sets what is waited for. False: it
 * is over. */
bool rpc_session_serve(struct rpc_session *s, const struct rpc_server_options *options);
/* The outstanding answer, as rpc_server_answer(); it is sent when the session is served next. */
void rpc_session_answer(struct rpc_session *s, int r, const struct buf *result,
                        const struct err *err);
/* Nothing waits to be sent: else its turn comes when there is room. */
bool rpc_session_is_idle(const struct rpc_session *s);
/* Since when the client keeps us waiting; 0: it does not. */
uint64_t rpc_session_waits_since(const struct rpc_session *s);
/* False: it kept us waiting too long, and should go. */
bool rpc_session_has_patience(struct rpc_session *s, const struct rpc_server_options *options,
                              uint64_t now_ns);
