/* SPDX-License-Identifier: MIT */
/* session.h - one connection to a server: lines in, answers out, nothing that waits. For server.c
 * only. */
#pragma once

#include "rpc/frame.h"
#include "rpc/server.h"

struct session {
	struct server *server;
	struct session *next;
	int fd;
	struct server_peer peer;
	struct loop_source *source;
	struct server_feed feed; /* without `next`: none */
	struct server_work work; /* without `abandon`: no answer is outstanding */
	json_t *asked;           /* the id that the outstanding answer is for */
	struct frames in;
	struct buf out;
	size_t sent;             /* bytes of out that are gone */
	uint64_t half_since_ns;  /* since when a line is half there; 0: none is */
	uint64_t stuck_since_ns; /* since when nothing of out was taken; 0: out is empty */
	bool ends;               /* nothing more is read; it goes when out is sent */
};

/* The credentials of who connected; false: it is gone already. */
bool session_peer(int fd, struct server_peer *ret);
struct session *session_new(struct server *server, int take_fd, const struct server_peer *peer);
void session_free(struct session *s);
/* Sends, reads, answers as far as it goes without waiting, and sets what is waited for. False: it
 * is over. */
bool session_serve(struct session *s, const struct server_options *options);
/* The outstanding answer, as server_answer(); it is sent when the session is served next. */
void session_answer(struct session *s, int r, const struct buf *result, const struct err *err);
/* Nothing waits to be sent: else its turn comes when there is room. */
bool session_is_idle(const struct session *s);
/* Since when the client keeps us waiting; 0: it does not. */
uint64_t session_waits_since(const struct session *s);
/* False: it kept us waiting too long, and should go. */
bool session_has_patience(struct session *s, const struct server_options *options, uint64_t now_ns);
