/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_server.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/rpc_frame.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_params.h"
#include "rpc/socket_address.h"

#define ACCEPTS_AT_ONCE 64
#define SWEEP_NS NS_PER_S
#define HALF_LINE_NS (5 * NS_PER_S)
#define SLOW_READER_NS (60 * NS_PER_S)
#define LINES_AT_ONCE 32               /* then other connections have their turn */
#define OUT_ENOUGH ((size_t)128 << 10) /* unsent bytes that stop further lines */
#define OUT_FED ((size_t)16 << 10)     /* unsent bytes that stop the feed */
#define FEEDS_AT_ONCE 64               /* batches of OUT_FED: more than a socket holds */
#define OUT_KEPT ((size_t)4 << 10)     /* bytes that an idle connection may keep */

/* One connection: lines in, answers out, never blocking. */
struct rpc_session {
	struct rpc_server *server;
	struct rpc_session *next;
	int fd;
	struct rpc_server_peer peer;
	struct loop_source *source;
	struct rpc_server_feed feed; /* `next` is NULL: none */
	struct rpc_server_work work; /* `abandon` is NULL: no answer is outstanding */
	json_t *asked;               /* the id of the outstanding answer */
	struct rpc_message again;    /* the call to repeat; no root: none */
	struct rpc_frames in;
	struct buf out;
	size_t sent;             /* bytes of `out` that were sent */
	uint64_t half_since_ns;  /* when the unfinished line began; 0: there is none */
	uint64_t stuck_since_ns; /* when the client stopped reading; 0: it reads */
	bool ends;               /* nothing more is read; closed when `out` is sent */
	bool omits_nulls;        /* the call that is being answered asked for that */
	bool feed_omits_nulls;   /* … and the one that started the feed */
};

struct rpc_server {
	struct loop *loop;
	int fd;
	struct rpc_server_options options;
	struct loop_source *listener, *sweeper, *waker;
	struct rpc_session *sessions;
	unsigned clients;
	bool is_closing;
};

/* ---- one connection -------------------------------------------------------------------------- */

static void drop_feed(struct rpc_session *s)
{
	if (s->feed.next)
		s->feed.close(s->feed.self);
	s->feed = (struct rpc_server_feed){ 0 };
}

void rpc_server_feed(const struct rpc_server_peer *peer, const struct rpc_server_feed *take_feed)
{
	drop_feed(peer->session);
	peer->session->feed = *take_feed;
	peer->session->feed_omits_nulls = peer->session->omits_nulls;
}

const struct rpc_server_feed *rpc_server_feed_of(const struct rpc_server_peer *peer)
{
	return &peer->session->feed;
}

void rpc_server_defer(const struct rpc_server_peer *peer, const struct rpc_server_work *take_work)
{
	peer->session->work = *take_work;
}

static bool has_work(const struct rpc_session *s)
{
	return s->work.abandon != NULL;
}

static void forget_work(struct rpc_session *s)
{
	json_decref(s->asked);
	s->asked = NULL;
	rpc_message_done(&s->again);
	s->work = (struct rpc_server_work){ 0 };
}

static void abandon_work(struct rpc_session *s)
{
	if (has_work(s))
		s->work.abandon(s->work.self);
	forget_work(s);
}

static void session_free(struct rpc_session *s)
{
	loop_remove(s->source);
	abandon_work(s);
	drop_feed(s);
	close(s->fd);
	rpc_frames_done(&s->in);
	buf_done(&s->out);
	free(s);
}

static size_t unsent(const struct rpc_session *s)
{
	return s->out.len - s->sent;
}

/* Removes sent bytes, so that they do not reduce the room for the next answer. */
static void drop_sent(struct rpc_session *s)
{
	if (unsent(s) >= OUT_ENOUGH)
		return; /* no line is answered before more is sent, so only few bytes are moved */
	memmove(s->out.at, s->out.at + s->sent, unsent(s));
	s->out.len = unsent(s);
	s->sent = 0;
}

/* False: the client is gone. */
static bool send_some(struct rpc_session *s)
{
	while (unsent(s)) {
		ssize_t n = send(s->fd, s->out.at + s->sent, unsent(s),
		                 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			if (errno != EAGAIN)
				return false;
			if (!s->stuck_since_ns)
				s->stuck_since_ns = clock_mono_ns();
			drop_sent(s);
			return true;
		}
		s->sent += (size_t)n;
		s->stuck_since_ns = 0;
	}
	if (s->out.cap > OUT_KEPT)
		buf_done(&s->out);
	buf_reset(&s->out);
	s->sent = 0;
	return true;
}

/* False: the connection broke. End of file does not count: the client may still read. */
static bool receive(struct rpc_session *s)
{
	char bytes[RPC_FRAME_CHUNK];
	ssize_t n = recv(s->fd, bytes, sizeof bytes, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	s->ends = n == 0;
	if (n > 0)
		rpc_frames_put(&s->in, bytes, (size_t)n);
	else if (rpc_frames_is_half(&s->in))
		rpc_frames_put(&s->in, "\n", 1); /* the last line needs no newline */
	return true;
}

static const struct rpc_server_method *find_method(const struct rpc_server_method *methods,
                                                   const char *name)
{
	for (; methods->name; methods++)
		if (strcmp(methods->name, name) == 0)
			return methods;
	return NULL;
}

/* Replaces what was written from `from` on with the error. */
static void put_error(struct rpc_session *s, size_t from, const json_t *id, const struct err *err)
{
	struct json j = { .out = &s->out };

	s->out.len = from;
	s->out.full = false;
	rpc_message_put_error(&j, id, err);
}

/* Completes the answer that begins at `from`, or replaces it with the error. */
static void end_answer(struct rpc_session *s, size_t from, const json_t *id, int r,
                       const struct err *err)
{
	struct json j = { .out = &s->out };
	struct err too_large;

	rpc_message_end(&j);
	if (r == 0 && s->omits_nulls)
		json_omit_nulls(&s->out, from);
	if (r == 0 && (s->out.full || s->out.len - from > RPC_SERVER_REPLY_MAX)) {
		r = err_set(&too_large, EFBIG, "the answer is larger than %zu bytes",
		            RPC_SERVER_REPLY_MAX);
		err = &too_large;
	}
	if (r < 0)
		put_error(s, from, id, err);
	if (!id)
		s->out.len = from; /* a notification gets no answer */
}

/* A notification gets no answer, so its work is abandoned. */
static void await_work(struct rpc_session *s, const struct rpc_message *m, size_t from)
{
	s->out.len = from;
	s->out.full = false;
	s->asked = json_incref(m->id);
	if (!m->id)
		abandon_work(s);
}

static void answer_work(struct rpc_session *s, int r, const struct buf *result,
                        const struct err *err)
{
	struct json j = { .out = &s->out };
	size_t from = s->out.len;

	rpc_message_begin_result(&j, s->asked);
	if (r == 0)
		json_raw(&j, result->at, result->len);
	s->out.full = s->out.full || result->full;
	end_answer(s, from, s->asked, r, err);
	forget_work(s);
}

/* The models of some clients refuse null where they expect a number. */
static int nulls_param(const json_t *params, bool *ret_omits, struct err *err)
{
	const char *nulls = "keep";

	*ret_omits = false;
	if (rpc_params_text(params, "nulls", 8, &nulls, err) < 0)
		return -err->code;
	*ret_omits = strcmp(nulls, "omit") == 0;
	if (!*ret_omits && strcmp(nulls, "keep") != 0)
		return err_set(err, EINVAL, "nulls is 'omit' or 'keep'");
	return 0;
}

static void await_repetition(struct rpc_session *s, const struct rpc_message *m, size_t from)
{
	s->out.len = from;
	s->out.full = false;
	s->again = *m;
	json_incref(m->root);
}

static void call_method(struct rpc_session *s, const struct rpc_message *m, size_t from)
{
	const struct rpc_server_options *o = &s->server->options;
	const struct rpc_server_method *method = find_method(o->methods, m->method);
	struct json j = { .out = &s->out };
	struct err err = { 0 };
	int r;

	rpc_message_begin_result(&j, m->id);
	r = nulls_param(m->params, &s->omits_nulls, &err);
	if (r == 0)
		r = method ? method->call(o->self, &s->peer, m->params, &j, &err)
		           : err_set(&err, ENOSYS, "no method '%s'", m->method);
	if (r == RPC_SERVER_LATER)
		await_work(s, m, from);
	else if (r == -EINPROGRESS && has_work(s))
		await_repetition(s, m, from);
	else if (r == RPC_SERVER_STREAM)
		s->out.len = from;
	else
		end_answer(s, from, m->id, r, &err);
}

/* Whether the client hung up. One that only shut down its writing side still reads. */
static bool is_gone(const struct rpc_session *s)
{
	struct pollfd p = { .fd = s->fd };

	return poll(&p, 1, 0) > 0 && (p.revents & POLLHUP);
}

/* A client that gave up assumes that its call was not executed, so it must not be: a sheet that the
 * client does not know about would never be closed. */
static void answer_line(struct rpc_session *s, struct scan line)
{
	size_t from = s->out.len;
	struct rpc_message m;
	struct err err;

	if (rpc_message_parse(line, &m, &err) < 0)
		put_error(s, from, m.id, &err);
	else if (!m.id || !is_gone(s))
		call_method(s, &m, from);
	rpc_message_done(&m);
}

/* Sends a last error and ends the connection. */
static void end_with_error(struct rpc_session *s, int code, const char *why)
{
	struct err err;

	err_set(&err, code, "%s", why);
	put_error(s, s->out.len, NULL, &err);
	s->ends = true;
	rpc_frames_done(&s->in);
}

static void answer_lines(struct rpc_session *s)
{
	struct scan line;

	for (int i = 0; i < LINES_AT_ONCE && !has_work(s) && unsent(s) < OUT_ENOUGH; i++) {
		enum rpc_frame_next next = rpc_frames_next(&s->in, &line);

		if (next == RPC_FRAME_TOO_LONG)
			end_with_error(s, EMSGSIZE, "a line is longer than 1 MiB");
		if (next != RPC_FRAME_LINE)
			return;
		answer_line(s, line);
	}
}

/* True: the feed may have more than there was room for. */
static bool fill_from_feed(struct rpc_session *s)
{
	struct json j = { .out = &s->out };

	while (s->feed.next && unsent(s) < OUT_FED) {
		size_t from = s->out.len;

		if (!s->feed.next(s->feed.self, &j))
			return false;
		if (s->feed_omits_nulls)
			json_omit_nulls(&s->out, from);
		j.need_comma = false;
	}
	return s->feed.next != NULL;
}

/* Sends until the socket is full: only then a client that does not read is noticed. Returns false
 * like send_some(). */
static bool send_feed(struct rpc_session *s, bool *ret_more)
{
	for (int i = 0; i < FEEDS_AT_ONCE; i++) {
		*ret_more = fill_from_feed(s);
		if (!send_some(s))
			return false;
		if (!*ret_more || unsent(s))
			break;
	}
	return true;
}

/* The client sent everything, and so did we. A connection with a feed stays until it hangs up. */
static bool is_over(struct rpc_session *s)
{
	return s->ends && !has_work(s) && !rpc_frames_has_line(&s->in) && !unsent(s) &&
	       (!s->feed.next || is_gone(s));
}

static void note_half_line(struct rpc_session *s, bool reads)
{
	if (!reads || !rpc_frames_is_half(&s->in))
		s->half_since_ns = 0;
	else if (!s->half_since_ns)
		s->half_since_ns = clock_mono_ns();
}

/* Whether to read: all lines so far are answered, and the answers are sent. */
static bool is_listening(struct rpc_session *s)
{
	return !s->ends && !has_work(s) && !rpc_frames_has_line(&s->in) && unsent(s) < OUT_ENOUGH;
}

/* Sends, reads and answers as far as possible without blocking, and sets what the loop waits for.
 * False: the connection is over. */
static bool session_serve(struct rpc_session *s)
{
	bool more, reads, is_fed;

	if (has_work(s) && is_gone(s))
		abandon_work(s); /* notifications after that call are still processed */
	if (!send_some(s))
		return false;
	if (is_listening(s) && !receive(s))
		return false;
	answer_lines(s);
	if (!send_feed(s, &is_fed) || is_over(s))
		return false;
	more = !has_work(s) && rpc_frames_has_line(&s->in);
	reads = is_listening(s);
	note_half_line(s, reads);
	/* Lines that still wait are served as soon as the socket is writable, which is at once. */
	loop_watch(s->source,
	           (reads ? LOOP_READ : 0) | (more || is_fed || unsent(s) ? LOOP_WRITE : 0));
	return true;
}

/* Since when the client has not finished its line or not read its answer; 0: it is not slow. */
static uint64_t slow_since(const struct rpc_session *s)
{
	return s->stuck_since_ns ? s->stuck_since_ns : s->half_since_ns;
}

/* Whether the client was slow for too long and has to be disconnected. */
static bool is_too_slow(struct rpc_session *s, uint64_t now_ns)
{
	const struct rpc_server_options *options = &s->server->options;

	if (s->stuck_since_ns)
		return now_ns - s->stuck_since_ns >= options->slow_reader_ns;
	if (!s->half_since_ns || now_ns - s->half_since_ns < options->half_line_ns)
		return false;
	end_with_error(s, ETIME, "timed out in the middle of a line");
	(void)!send_some(s);
	return true;
}

/* ---- all connections ------------------------------------------------------------------------- */

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
	struct rpc_session **at = &s->sessions;

	while (*at != dead)
		at = &(*at)->next;
	*at = dead->next;
	s->clients--;
	session_free(dead);
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

static void on_session(void *self)
{
	struct rpc_session *session = self;
	struct rpc_server *s = session->server;
	bool was_slow = slow_since(session) != 0;

	if (!session_serve(session))
		session_drop(s, session);
	else if (!was_slow && slow_since(session))
		schedule_sweep(s);
}

void rpc_server_answer(struct rpc_session *session, int r, const struct buf *result,
                       const struct err *err)
{
	answer_work(session, r, result, err);
	on_session(session);
}

void rpc_server_call_again(struct rpc_session *session)
{
	struct rpc_message m = session->again;

	session->again = (struct rpc_message){ 0 };
	forget_work(session);
	call_method(session, &m, session->out.len);
	rpc_message_done(&m);
	on_session(session);
}

static void on_sweep(void *self)
{
	struct rpc_server *s = self;
	uint64_t now = clock_mono_ns();
	bool again = false;

	for (struct rpc_session *at = s->sessions, *next; at; at = next) {
		next = at->next;
		if (is_too_slow(at, now))
			session_drop(s, at);
		else
			again = again || slow_since(at);
	}
	if (s->listener)
		loop_watch(s->listener, LOOP_READ);
	if (again)
		schedule_sweep(s);
}

static void accept_client(struct rpc_server *s, int take_fd)
{
	cleanup(closep) int fd = take_fd;
	struct rpc_server_peer peer;
	struct rpc_session *session;
	struct ucred cred;
	struct err err;

	if (socket_address_peer(fd, &cred) < 0)
		return; /* it is gone already */
	peer = (struct rpc_server_peer){ .pid = cred.pid, .uid = cred.uid, .gid = cred.gid };
	if (s->options.admits && !s->options.admits(s->options.self, &peer)) {
		refuse(fd, EACCES, "your user may not use this socket");
		return;
	}
	if (!has_room_for(s, fd, peer.uid))
		return;
	session = xcalloc(1, sizeof *session);
	*session = (struct rpc_session){ .server = s, .fd = TAKE_FD(fd), .peer = peer };
	session->peer.session = session;
	session->out.max = RPC_SERVER_REPLY_MAX + OUT_ENOUGH;
	if (loop_add_reader(s->loop, session->fd, on_session, session, &session->source, &err) <
	    0) {
		session_free(session);
		return;
	}
	session->next = s->sessions;
	s->sessions = session;
	s->clients++;
}

void rpc_server_adopt(struct rpc_server *server, int take_fd)
{
	accept_client(server, take_fd);
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

	for (struct rpc_session *at = s->sessions, *next; at; at = next) {
		next = at->next;
		if (at->feed.next && !unsent(at))
			on_session(at);
	}
}

/* Deferred to a timer, because the caller may be a method whose own connection is being served. */
void rpc_server_wake(struct rpc_server *server)
{
	if (!server->is_closing)
		loop_timer_set(server->waker, 0);
}

int rpc_server_open(struct loop *loop, int take_fd, const struct rpc_server_options *options,
                    struct rpc_server **ret, struct err *err)
{
	cleanup(rpc_server_closep) struct rpc_server *s = xcalloc(1, sizeof *s);
	int r = 0;

	*s = (struct rpc_server){ .loop = loop, .fd = take_fd, .options = *options };
	if (!s->options.half_line_ns)
		s->options.half_line_ns = HALF_LINE_NS;
	if (!s->options.slow_reader_ns)
		s->options.slow_reader_ns = SLOW_READER_NS;
	s->sweeper = loop_add_timer(loop, LOOP_NEVER, on_sweep, s);
	s->waker = loop_add_timer(loop, LOOP_NEVER, on_wake, s);
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
	loop_remove(server->waker);
	while (server->sessions)
		session_drop(server, server->sessions);
	closep(&server->fd);
	free(server);
}
