/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_server.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_session.h"
#include "rpc/socket_address.h"

#define ACCEPT_NS NS_PER_MS /* then others have their turn */
#define SWEEP_NS NS_PER_S
#define HALF_LINE_NS (5 * NS_PER_S)
#define SLOW_READER_NS (60 * NS_PER_S)
#define LARGE_ANSWER_NS (5 * NS_PER_S)
#define RESERVED_MAX 64  /* connections that are kept for trusted users … */
#define RESERVED_PART 16 /* … and this part at most */

struct rpc_server {
	struct loop *loop;
	int fd;
	struct rpc_server_options options;
	struct loop_source *listener, *sweeper;
	struct rpc_sessions all;
	unsigned clients, untrusted; /* untrusted: of users but root and ours */
	bool has_news;               /* for the feeds */
	bool is_closing;
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
	const struct rpc_user *user = rpc_turns_user(&s->all.turns, uid);

	return user ? user->clients : 0;
}

static void session_drop(struct rpc_server *s, struct rpc_session *dead);

/* Those with a feed or a call come last. */
static bool is_idler(const struct rpc_session *a, const struct rpc_session *b)
{
	bool a_is_used = rpc_session_is_used(a), b_is_used = rpc_session_is_used(b);

	return a_is_used != b_is_used ? b_is_used
	                              : rpc_session_active_ns(a) < rpc_session_active_ns(b);
}

/* The connection of the user that has been idle for longest. */
static struct rpc_session *find_idle(const struct rpc_server *s, const struct rpc_user *user)
{
	struct rpc_session *idle = NULL;

	for (struct rpc_session *at = s->all.first; at; at = rpc_session_next(at))
		if (rpc_session_user(at) == user && (!idle || is_idler(at, idle)))
			idle = at;
	return idle;
}

/* A user that would still have as many connections as the one that comes gives one up. For trusted users,
 * any other does. */
static bool make_room(struct rpc_server *s, uid_t uid, bool is_trusted)
{
	const struct rpc_user *most = NULL;
	struct rpc_session *idle;

	for (const struct rpc_user *user = s->all.turns.users; user; user = user->next)
		if (!user->is_trusted && (!most || user->clients > most->clients))
			most = user;
	if (!most || most->clients <= (is_trusted ? 0 : clients_of(s, uid) + 1))
		return false;
	idle = find_idle(s, most);
	if (!idle)
		return false;
	rpc_session_refuse(idle, EUSERS, "too many connections: this one was idle for longest");
	session_drop(s, idle);
	return true;
}

static unsigned untrusted_max(const struct rpc_server_options *o)
{
	unsigned reserved = MIN(o->clients_max / RESERVED_PART, (unsigned)RESERVED_MAX);

	return o->clients_max - MAX(reserved, 1U);
}

/* Whether the user may have one more connection; if not, the client gets the reason. */
static bool has_room_for(struct rpc_server *s, int fd, uid_t uid, bool is_trusted)
{
	const struct rpc_server_options *o = &s->options;
	unsigned own = clients_of(s, uid);
	char why[128];

	if (o->clients_per_uid_max && !is_trusted && own >= o->clients_per_uid_max)
		snprintf(why, sizeof why,
		         "too many connections: user %u has reached its limit of %u", uid,
		         o->clients_per_uid_max);
	else if ((s->clients >= o->clients_max ||
	          (!is_trusted && s->untrusted >= untrusted_max(o))) &&
	         !make_room(s, uid, is_trusted))
		snprintf(why, sizeof why,
		         "too many connections: all %u are in use, %u of them by user %u",
		         o->clients_max, own, uid);
	else
		return true;
	refuse(fd, EUSERS, why);
	return false;
}

static void session_drop(struct rpc_server *s, struct rpc_session *dead)
{
	s->clients--;
	s->untrusted -= !rpc_session_user(dead)->is_trusted;
	rpc_session_free(dead);
	if (s->is_closing)
		return;
	if (s->listener)
		loop_watch(s->listener, LOOP_READ); /* accepting may have been paused */
	if (s->options.left)
		s->options.left(s->options.self);
}

static void schedule_sweep(struct rpc_server *s)
{
	loop_timer_set(s->sweeper, clock_mono_ns() + SWEEP_NS);
}

static struct rpc_server *server_of(struct rpc_sessions *all)
{
	return (struct rpc_server *)((char *)all - offsetof(struct rpc_server, all));
}

static void serve_turn(struct rpc_turn *turn, uint64_t until_ns)
{
	struct rpc_session *session = rpc_session_of_turn(turn);
	struct rpc_server *s = server_of(rpc_session_all(session));
	bool was_slow = rpc_session_is_slow(session);

	if (!rpc_session_serve(session, until_ns))
		session_drop(s, session);
	else if (!was_slow && rpc_session_is_slow(session))
		schedule_sweep(s);
}

static void on_sweep(void *self)
{
	struct rpc_server *s = self;
	uint64_t now = clock_mono_ns();
	bool again = false;

	for (struct rpc_session *at = s->all.first, *next; at; at = next) {
		next = rpc_session_next(at);
		if (rpc_session_is_too_slow(at, now))
			session_drop(s, at);
		else
			again = again || rpc_session_is_slow(at);
	}
	if (s->listener)
		loop_watch(s->listener, LOOP_READ);
	if (again)
		schedule_sweep(s);
}

static void accept_client(struct rpc_server *s, int take_fd)
{
	const struct rpc_server_options *o = &s->options;
	cleanup(closep) int fd = take_fd;
	struct rpc_server_peer peer;
	struct ucred cred;
	bool is_trusted;

	if (socket_address_peer(fd, &cred) < 0)
		return; /* it is gone already */
	peer = (struct rpc_server_peer){ .pid = cred.pid, .uid = cred.uid, .gid = cred.gid };
	if (o->admits && !o->admits(o->self, &peer)) {
		refuse(fd, EACCES, "your user may not use this socket");
		return;
	}
	is_trusted = !o->trusts || o->trusts(o->self, &peer);
	if (!has_room_for(s, fd, peer.uid, is_trusted))
		return;
	if (!rpc_session_new(&s->all, TAKE_FD(fd), &peer, is_trusted))
		return;
	s->clients++;
	s->untrusted += !is_trusted;
}

void rpc_server_adopt(struct rpc_server *server, int take_fd)
{
	accept_client(server, take_fd);
}

static void on_connect(void *self)
{
	struct rpc_server *s = self;
	uint64_t end_ns = clock_mono_ns() + ACCEPT_NS;

	while (clock_mono_ns() < end_ns) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			accept_client(s, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			/* The clients stay in the queue until the next sweep; trying again at once
			 * would be a busy loop. */
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
	bool has_news = s->has_news;

	s->has_news = false;
	for (struct rpc_session *at = s->all.first, *next; at; at = next) {
		next = rpc_session_next(at);
		rpc_session_resume(at, has_news);
	}
}

void rpc_server_wake(struct rpc_server *server)
{
	server->has_news = true;
	loop_timer_set(server->all.waker, 0);
}

int rpc_server_open(struct loop *loop, int take_fd, const struct rpc_server_options *options,
                    struct rpc_server **ret, struct err *err)
{
	cleanup(rpc_server_closep) struct rpc_server *s = xcalloc(1, sizeof *s);
	int r = 0;

	*s = (struct rpc_server){ .loop = loop, .fd = take_fd, .options = *options };
	s->all = (struct rpc_sessions){
		.loop = loop,
		.methods = options->methods,
		.self = options->self,
		.half_line_ns = options->half_line_ns ? options->half_line_ns : HALF_LINE_NS,
		.slow_reader_ns = options->slow_reader_ns ? options->slow_reader_ns
		                                          : SLOW_READER_NS,
		.large_answer_ns = options->large_answer_ns ? options->large_answer_ns
		                                            : LARGE_ANSWER_NS,
		.waker = loop_add_timer(loop, LOOP_NEVER, on_wake, s),
	};
	rpc_turns_init(&s->all.turns, loop, serve_turn);
	s->sweeper = loop_add_timer(loop, LOOP_NEVER, on_sweep, s);
	if (s->fd >= 0)
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
	loop_remove(server->all.waker);
	server->all.waker = NULL;
	for (struct rpc_session *at = server->all.first; at; at = rpc_session_next(at))
		rpc_session_send_rest(at);
	while (server->all.first)
		session_drop(server, server->all.first);
	rpc_turns_done(&server->all.turns);
	closep(&server->fd);
	free(server);
}
