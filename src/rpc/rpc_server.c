/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_session.h"

#define ACCEPTS_AT_ONCE 64
#define SWEEP_NS NS_PER_S
#define HALF_LINE_NS (5 * NS_PER_S)
#define SLOW_READER_NS (60 * NS_PER_S)

struct rpc_server {
	struct loop *loop;
	int fd;
	struct rpc_server_options options;
	struct loop_source *listener, *sweeper, *waker;
	struct rpc_session *sessions;
	unsigned clients;
	bool is_woken; /* on_wake() is scheduled */
	bool is_closing;
	bool is_paused; /* out of file descriptors: no accept() until the next sweep */
};

unsigned rpc_server_clients(const struct rpc_server *server)
{
	return server->clients;
}

/* Sends one error line. It fits, because the socket's buffer is still empty. */
static void refuse(int fd, int code, const char *why)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };
	struct err err;

	err_set(&err, code, "%s", why);
	rpc_message_put_error(&j, NULL, &err);
	(void)!send(fd, out.at, out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	buf_done(&out);
}

static unsigned clients_of(const struct rpc_server *s, uid_t uid)
{
	unsigned n = 0;

	for (const struct rpc_session *at = s->sessions; at; at = at->next)
		n += at->peer.uid == uid;
	return n;
}

/* Whether the user may have one more connection; if not, the client gets the reason. */
static bool has_room_for(const struct rpc_server *s, int fd, uid_t uid)
{
	const struct rpc_server_options *o = &s->options;
	char why[128];

	if (o->clients_per_uid_max && uid != 0 && clients_of(s, uid) >= o->clients_per_uid_max)
		snprintf(why, sizeof why,
		         "too many connections: user %u has reached its limit of %u", uid,
		         o->clients_per_uid_max);
	else if (s->clients >= o->clients_max)
		snprintf(why, sizeof why,
		         "too many connections: all %u are in use, %u of them by user %u",
		         o->clients_max, clients_of(s, uid), uid);
	else
		return true;
	refuse(fd, EUSERS, why);
	return false;
}

static void session_drop(struct rpc_server *s, struct rpc_session *dead)
{
	for (struct rpc_session **at = &s->sessions; *at; at = &(*at)->next) {
		if (*at == dead) {
			*at = dead->next;
			break;
		}
	}
	s->clients--;
	rpc_session_free(dead);
	if (s->is_paused) {
		s->is_paused = false;
		loop_watch(s->listener, LOOP_READ);
	}
}

static void on_sweep(void *self);

/* The timer is created when a client is slow for the first time. */
static void schedule_sweep(struct rpc_server *s)
{
	uint64_t when = clock_mono_ns() + SWEEP_NS;
	struct err err;

	if (s->sweeper)
		loop_timer_set(s->sweeper, when);
	else if (loop_add_timer(s->loop, when, on_sweep, s, &s->sweeper, &err) < 0)
		s->sweeper = NULL; /* slow clients then stay connected, which does no harm */
}

static void on_session(void *self)
{
	struct rpc_session *session = self;
	struct rpc_server *s = session->server;
	bool was_slow = rpc_session_slow_since(session) != 0;

	if (!rpc_session_serve(session, &s->options))
		session_drop(s, session);
	else if (!was_slow && rpc_session_slow_since(session))
		schedule_sweep(s);
}

void rpc_server_answer(struct rpc_session *session, int r, const struct buf *result,
                       const struct err *err)
{
	rpc_session_answer(session, r, result, err);
	on_session(session);
}

static void on_sweep(void *self)
{
	struct rpc_server *s = self;
	uint64_t now = clock_mono_ns();
	bool again = false;

	for (struct rpc_session *at = s->sessions, *next; at; at = next) {
		next = at->next;
		if (rpc_session_is_too_slow(at, &s->options, now))
			session_drop(s, at);
		else
			again = again || rpc_session_slow_since(at);
	}
	if (s->is_paused) {
		s->is_paused = false;
		loop_watch(s->listener, LOOP_READ);
	}
	if (again)
		schedule_sweep(s);
}

static void accept_client(struct rpc_server *s, int take_fd)
{
	cleanup(closep) int fd = take_fd;
	struct rpc_server_peer peer;
	struct rpc_session *session;
	struct err err;

	if (!rpc_session_peer(fd, &peer))
		return;
	if (s->options.admits && !s->options.admits(s->options.self, &peer)) {
		refuse(fd, EACCES, "your user may not use this socket");
		return;
	}
	if (!has_room_for(s, fd, peer.uid))
		return;
	session = rpc_session_new(s, TAKE_FD(fd), &peer);
	if (loop_add_reader(s->loop, session->fd, on_session, session, &session->source, &err) <
	    0) {
		rpc_session_free(session);
		return;
	}
	session->next = s->sessions;
	s->sessions = session;
	s->clients++;
}

static void on_connect(void *self)
{
	struct rpc_server *s = self;

	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			accept_client(s, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			/* The clients stay in the queue; trying again at once would be a busy loop. */
			s->is_paused = true;
			loop_watch(s->listener, 0);
			schedule_sweep(s);
		}
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

static void on_wake(void *self)
{
	struct rpc_server *s = self;

	s->is_woken = false;
	for (struct rpc_session *at = s->sessions, *next; at; at = next) {
		next = at->next;
		if (at->feed.next && rpc_session_is_idle(at))
			on_session(at);
	}
}

/* Deferred to a timer, because the caller may be a method whose own connection is being served. */
void rpc_server_wake(struct rpc_server *server)
{
	uint64_t now = clock_mono_ns();
	struct err err;

	if (server->is_woken || server->is_closing)
		return;
	if (server->waker)
		loop_timer_set(server->waker, now);
	else if (loop_add_timer(server->loop, now, on_wake, server, &server->waker, &err) < 0)
		return;
	server->is_woken = true;
}

int rpc_server_open(struct loop *loop, int take_fd, const struct rpc_server_options *options,
                    struct rpc_server **ret, struct err *err)
{
	cleanup(rpc_server_closep) struct rpc_server *s = xcalloc(1, sizeof *s);
	int r;

	*s = (struct rpc_server){ .loop = loop, .fd = take_fd, .options = *options };
	if (!s->options.half_line_ns)
		s->options.half_line_ns = HALF_LINE_NS;
	if (!s->options.slow_reader_ns)
		s->options.slow_reader_ns = SLOW_READER_NS;
	r = loop_add_reader(loop, s->fd, on_connect, s, &s->listener, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

void rpc_server_close(struct rpc_server *server)
{
	if (!server)
		return;
	server->is_closing = true;
	loop_remove(server->listener);
	loop_remove(server->sweeper);
	loop_remove(server->waker);
	while (server->sessions)
		session_drop(server, server->sessions);
	close(server->fd);
	free(server);
}
