/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_session.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/socket_address.h"
#include "rpc/rpc_message.h"

#define LINES_AT_ONCE 32               /* then other connections have their turn */
#define OUT_ENOUGH ((size_t)128 << 10) /* unsent bytes that stop further lines */
#define OUT_FED ((size_t)16 << 10)     /* unsent bytes that stop the feed */
#define FEEDS_AT_ONCE 64               /* batches of OUT_FED: more than a socket holds */
#define OUT_KEPT ((size_t)4 << 10)     /* bytes that an idle connection may keep */

bool rpc_session_peer(int fd, struct rpc_server_peer *ret)
{
	struct ucred cred;

	if (socket_address_peer(fd, &cred) < 0)
		return false;
	*ret = (struct rpc_server_peer){ .pid = cred.pid, .uid = cred.uid, .gid = cred.gid };
	return true;
}

struct rpc_session *rpc_session_new(struct rpc_server *server, int take_fd,
                                    const struct rpc_server_peer *peer)
{
	struct rpc_session *s = xcalloc(1, sizeof *s);

	*s = (struct rpc_session){ .server = server, .fd = take_fd, .peer = *peer };
	s->peer.session = s;
	s->out.max = RPC_SERVER_REPLY_MAX + OUT_ENOUGH;
	return s;
}

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
	s->work = (struct rpc_server_work){ 0 };
}

static void abandon_work(struct rpc_session *s)
{
	if (has_work(s))
		s->work.abandon(s->work.self);
	forget_work(s);
}

void rpc_session_free(struct rpc_session *s)
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

	rpc_message_end_result(&j);
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

void rpc_session_answer(struct rpc_session *s, int r, const struct buf *result,
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

static void call_method(struct rpc_session *s, const struct rpc_message *m,
                        const struct rpc_server_options *o, size_t from)
{
	const struct rpc_server_method *method = find_method(o->methods, m->method);
	struct json j = { .out = &s->out };
	struct err err = { 0 };
	int r;

	rpc_message_begin_result(&j, m->id);
	r = method ? method->call(o->self, &s->peer, m->params, &j, &err)
	           : err_set(&err, ENOSYS, "no method '%s'", m->method);
	if (r == RPC_SERVER_LATER)
		await_work(s, m, from);
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
static void answer_line(struct rpc_session *s, struct scan line, const struct rpc_server_options *o)
{
	size_t from = s->out.len;
	struct rpc_message m;
	struct err err;

	if (rpc_message_parse(line, &m, &err) < 0)
		put_error(s, from, m.id, &err);
	else if (!m.id || !is_gone(s))
		call_method(s, &m, o, from);
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

static void answer_lines(struct rpc_session *s, const struct rpc_server_options *o)
{
	struct scan line;

	for (int i = 0; i < LINES_AT_ONCE && !has_work(s) && unsent(s) < OUT_ENOUGH; i++) {
		enum rpc_frame_next next = rpc_frames_next(&s->in, &line);

		if (next == RPC_FRAME_TOO_LONG)
			end_with_error(s, EMSGSIZE, "a line is longer than 1 MiB");
		if (next != RPC_FRAME_LINE)
			return;
		answer_line(s, line, o);
	}
}

/* True: the feed may have more than there was room for. */
static bool fill_from_feed(struct rpc_session *s)
{
	struct json j = { .out = &s->out };

	while (s->feed.next && unsent(s) < OUT_FED) {
		if (!s->feed.next(s->feed.self, &j))
			return false;
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

bool rpc_session_serve(struct rpc_session *s, const struct rpc_server_options *options)
{
	bool more, reads, is_fed;

	if (has_work(s) && is_gone(s))
		abandon_work(s); /* notifications after that call are still processed */
	if (!send_some(s))
		return false;
	if (is_listening(s) && !receive(s))
		return false;
	answer_lines(s, options);
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

bool rpc_session_is_idle(const struct rpc_session *s)
{
	return !unsent(s);
}

uint64_t rpc_session_slow_since(const struct rpc_session *s)
{
	return s->stuck_since_ns ? s->stuck_since_ns : s->half_since_ns;
}

bool rpc_session_is_too_slow(struct rpc_session *s, const struct rpc_server_options *options,
                             uint64_t now_ns)
{
	if (s->stuck_since_ns)
		return now_ns - s->stuck_since_ns >= options->slow_reader_ns;
	if (!s->half_since_ns || now_ns - s->half_since_ns < options->half_line_ns)
		return false;
	end_with_error(s, ETIME, "timed out in the middle of a line");
	(void)!send_some(s);
	return true;
}
