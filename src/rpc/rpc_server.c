/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_server.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/rpc_frame.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_params.h"
#include "rpc/rpc_turns.h"
#include "rpc/socket_address.h"

#define ACCEPT_NS NS_PER_MS /* then others have their turn */
#define SWEEP_NS NS_PER_S
#define HALF_LINE_NS (5 * NS_PER_S)
#define SLOW_READER_NS (60 * NS_PER_S)
#define LARGE_ANSWER_NS (5 * NS_PER_S)
#define SHORT_NS NS_PER_S /* instead of these, while memory is short */
#define RESERVED_MAX 64   /* connections that are kept for trusted users … */
#define RESERVED_PART 16  /* … and this part at most */

/* Bytes that a connection may always hold: unsent ones that stop further lines and the feed, and those of an
 * unfinished line. What is larger counts against these limits. */
#define SMALL ((size_t)16 << 10)
#define HELD_BY_USER_MAX ((size_t)2 << 20)
#define HELD_BY_ALL_MAX ((size_t)24 << 20)
#define OUT_KEPT ((size_t)4 << 10)    /* bytes that an idle connection may keep */
#define SOCKET_BYTES ((int)(32 << 10)) /* unread ones in the kernel count as our memory, too */

/* One connection: lines in, answers out, never blocking. */
struct rpc_session {
	struct rpc_server *server;
	struct rpc_session *next;
	struct rpc_turn turn;
	int fd;
	struct rpc_server_peer peer;
	struct loop_source *source;
	struct rpc_server_feed feed; /* `next` is NULL: none */
	struct rpc_server_work work; /* `abandon` is NULL: no answer is outstanding */
	json_t *asked;               /* the id of the outstanding answer */
	struct rpc_message again;    /* the call to repeat, or to begin later; no root: none */
	struct rpc_frames in;
	struct buf out;
	size_t sent;             /* bytes of `out` that were sent */
	size_t held;             /* bytes that were counted for it */
	size_t swept_unsent;     /* unsent ones of a large answer at the last sweep; 0: there was none */
	uint64_t active_ns;      /* when it was last served */
	uint64_t half_since_ns;  /* when the unfinished line began; 0: there is none */
	uint64_t stuck_since_ns; /* when the client stopped reading; 0: it reads */
	uint64_t large_since_ns; /* since when a large answer is unsent; 0: there is none */
	uint64_t held_since_ns;  /* since when it is held up */
	enum rpc_put_off put_off; /* what `again` waits for */
	bool is_held_up;          /* it could go on but for what its user, or all, hold */
	bool has_large_work;     /* its unsent answer was deferred, and is large */
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
	struct rpc_turns turns;
	unsigned clients, strangers; /* strangers: those that are not trusted */
	size_t held, held_max;       /* bytes in the buffers of strangers */
	bool has_news;               /* for the feeds */
	bool is_closing;
};

/* ---- one connection -------------------------------------------------------------------------- */

/* Those that were held up go on. Deferred to a timer: the caller may be serving a connection. */
static void resume_others(struct rpc_server *server)
{
	if (!server->is_closing)
		loop_timer_set(server->waker, 0);
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
	peer->session->feed_omits_nulls = peer->session->omits_nulls;
}

const struct rpc_server_feed *rpc_server_feed_of(const struct rpc_server_peer *peer)
{
	return &peer->session->feed;
}

void rpc_server_defer(const struct rpc_server_peer *peer, const struct rpc_server_work *take_work)
{
	peer->session->work = *take_work;
	peer->session->turn.user->deferred++;
}

static bool has_work(const struct rpc_session *s)
{
	return s->work.abandon != NULL;
}

/* Whether a call is not answered yet. */
static bool is_busy(const struct rpc_session *s)
{
	return has_work(s) || s->again.root;
}

/* A large answer counts until it is read. */
static void set_large_work(struct rpc_session *s, bool is_large)
{
	s->turn.user->deferred += (unsigned)is_large - (unsigned)s->has_large_work;
	if (s->has_large_work && !is_large)
		resume_others(s->server);
	s->has_large_work = is_large;
}

static void forget_work(struct rpc_session *s)
{
	s->turn.user->deferred -= has_work(s);
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
	resume_others(s->server);
}

static size_t unsent(const struct rpc_session *s)
{
	return s->out.len - s->sent;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Whether it may hold more than a few bytes. */
static bool has_memory(const struct rpc_session *s)
{
	const struct rpc_user *user = s->turn.user;

	return user->is_trusted ||
	       (user->held < HELD_BY_USER_MAX && s->server->held < HELD_BY_ALL_MAX);
}

static void set_put_off(struct rpc_session *s, enum rpc_put_off what)
{
	struct rpc_user *user = s->turn.user;

	if (s->put_off == what)
		return;
	user->put_off[s->put_off]--;
	user->put_off[what]++;
	s->put_off = what;
	resume_others(s->server);
}

/* Whether others of the user wait for that, and were there first. */
static bool is_behind(const struct rpc_session *s, enum rpc_put_off what)
{
	return !s->turn.user->is_trusted && s->put_off != what && s->turn.user->put_off[what];
}

bool rpc_server_may_defer(const struct rpc_server_peer *peer)
{
	const struct rpc_user *user = peer->session->turn.user;

	return user->is_trusted ||
	       (!user->deferred && peer->session->server->held < HELD_BY_ALL_MAX &&
	        !is_behind(peer->session, RPC_FOR_WORK));
}

static void count_held(struct rpc_session *s)
{
	struct rpc_user *user = s->turn.user;
	size_t held = s->out.cap + s->in.bytes.cap;
	bool had_memory = has_memory(s);

	user->held += held - s->held;
	if (!user->is_trusted)
		s->server->held += held - s->held;
	s->held = held;
	s->server->held_max = MAX(s->server->held_max, s->server->held);
	if (!had_memory && has_memory(s))
		resume_others(s->server);
}

static void session_free(struct rpc_session *s)
{
	loop_remove(s->source);
	abandon_work(s);
	set_large_work(s, false);
	set_put_off(s, RPC_FOR_NOTHING);
	drop_feed(s);
	close(s->fd);
	rpc_frames_done(&s->in);
	buf_done(&s->out);
	count_held(s);
	rpc_turns_leave(&s->server->turns, &s->turn);
	free(s);
}

/* ---- bytes in and out ------------------------------------------------------------------------ */

/* Removes sent bytes, so that they do not reduce the room for the next answer. */
static void drop_sent(struct rpc_session *s)
{
	if (unsent(s) >= SMALL)
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

/* Bytes of an unfinished line that it may receive now. */
static size_t room_for_line(const struct rpc_session *s)
{
	size_t n = s->in.bytes.len - s->in.at;

	if (has_memory(s))
		return RPC_FRAME_CHUNK;
	return n < SMALL - 1 ? SMALL - 1 - n : 0; /* and its NUL */
}

/* False: the connection broke. End of file does not count: the client may still read. */
static bool receive(struct rpc_session *s)
{
	char bytes[RPC_FRAME_CHUNK];
	ssize_t n = recv(s->fd, bytes, room_for_line(s), MSG_DONTWAIT);

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
	if (!m->id && !s->work.keeps_order)
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
	set_large_work(s, s->out.len - from > SMALL);
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

/* Frees memory that a large answer needed. */
static void trim_out(struct rpc_session *s)
{
	struct buf rest = { .max = s->out.max };

	buf_put(&rest, s->out.at + s->sent, unsent(s));
	buf_done(&s->out);
	s->out = rest;
	s->sent = 0;
}

static void await_repetition(struct rpc_session *s, const struct rpc_message *m, size_t from)
{
	s->out.len = from;
	s->out.full = false;
	trim_out(s);
	s->again = *m;
	json_incref(m->root);
}


static void put_off_call(struct rpc_session *s, const struct rpc_message *m, size_t from,
                         enum rpc_put_off what)
{
	await_repetition(s, m, from);
	set_put_off(s, what);
}

/* A large answer is made again when there is memory for it. Only one that changes nothing can be large. */
static bool is_beyond_memory(const struct rpc_session *s, const struct rpc_server_method *method,
                             size_t from)
{
	return method->only_reads && s->out.len - from > SMALL &&
	       (!has_memory(s) || is_behind(s, RPC_FOR_MEMORY));
}

static void call_method(struct rpc_session *s, const struct rpc_message *m, size_t from)
{
	const struct rpc_server_options *o = &s->server->options;
	const struct rpc_server_method *method = find_method(o->methods, m->method);
	struct json j = { .out = &s->out };
	struct err err = { 0 };
	int r;

	if (method && method->only_reads && !m->id)
		return; /* nobody reads the answer */
	rpc_message_begin_result(&j, m->id);
	r = nulls_param(m->params, &s->omits_nulls, &err);
	if (r == 0)
		r = method ? method->call(o->self, &s->peer, m->params, &j, &err)
		           : err_set(&err, ENOSYS, "no method '%s'", m->method);
	if (r == RPC_SERVER_LATER)
		await_work(s, m, from);
	else if (r == -EINPROGRESS && has_work(s))
		await_repetition(s, m, from);
	else if (r == RPC_SERVER_WAIT || (method && is_beyond_memory(s, method, from)))
		put_off_call(s, m, from, r == RPC_SERVER_WAIT ? RPC_FOR_WORK : RPC_FOR_MEMORY);
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

/* Begins the call that was put off. If it is put off again, that costs its own user time. */
static void begin_again(struct rpc_session *s)
{
	struct rpc_message m = s->again;

	s->again = (struct rpc_message){ 0 };
	if (!is_gone(s))
		call_method(s, &m, s->out.len);
	if (!s->again.root || has_work(s))
		set_put_off(s, RPC_FOR_NOTHING);
	rpc_message_done(&m);
}

/* Of those of the user that wait for the same, the one that waits for longest. */
static bool is_first(const struct rpc_session *s)
{
	for (const struct rpc_session *at = s->server->sessions; at; at = at->next)
		if (at->turn.user == s->turn.user && at->put_off == s->put_off &&
		    at->held_since_ns < s->held_since_ns)
			return false;
	return true;
}

static bool may_begin_again(struct rpc_session *s)
{
	bool has_room = s->put_off == RPC_FOR_MEMORY ? has_memory(s)
	                                             : rpc_server_may_defer(&s->peer);

	return (has_room && is_first(s)) || is_gone(s);
}

static void answer_lines(struct rpc_session *s, uint64_t until_ns)
{
	struct scan line;

	if (s->put_off != RPC_FOR_NOTHING && may_begin_again(s))
		begin_again(s);
	while (!is_busy(s) && unsent(s) < SMALL) {
		enum rpc_frame_next next = rpc_frames_next(&s->in, &line);

		if (next == RPC_FRAME_TOO_LONG)
			end_with_error(s, EMSGSIZE, "a line is longer than 1 MiB");
		if (next != RPC_FRAME_LINE)
			return;
		answer_line(s, line);
		count_held(s);
		if (clock_mono_ns() >= until_ns)
			return; /* after one line at least: a busy machine may have used up the turn */
	}
}

/* True: the feed may have more than there was room for. */
static bool fill_from_feed(struct rpc_session *s)
{
	struct json j = { .out = &s->out };

	s->is_held_up = s->feed.is_large && !has_memory(s);
	while (s->feed.next && unsent(s) < SMALL && !s->is_held_up) {
		size_t from = s->out.len;

		if (!s->feed.next(s->feed.self, &j))
			return false;
		if (s->feed_omits_nulls)
			json_omit_nulls(&s->out, from);
		j.need_comma = false;
		count_held(s);
	}
	return s->feed.next && !s->is_held_up;
}

/* Sends until the socket is full: only then a client that does not read is noticed. Returns false
 * like send_some(). */
static bool send_feed(struct rpc_session *s, uint64_t until_ns, bool *ret_more)
{
	do {
		*ret_more = fill_from_feed(s);
		if (!send_some(s))
			return false;
	} while (*ret_more && !unsent(s) && clock_mono_ns() < until_ns);
	return true;
}

/* The client sent everything, and so did we. A connection with a feed stays until it hangs up. */
static bool is_over(struct rpc_session *s)
{
	return s->ends && !is_busy(s) && !rpc_frames_has_line(&s->in) && !unsent(s) &&
	       (!s->feed.next || is_gone(s));
}

/* Whether to read: all lines so far are answered, and the answers are sent. */
static bool is_listening(struct rpc_session *s)
{
	return !s->ends && !is_busy(s) && !rpc_frames_has_line(&s->in) && unsent(s) < SMALL;
}

static void set_since(uint64_t *since_ns, bool lasts)
{
	if (!lasts)
		*since_ns = 0;
	else if (!*since_ns)
		*since_ns = clock_mono_ns();
}

/* Sends, reads and answers as far as possible without blocking. False: the connection is over. */
static bool exchange(struct rpc_session *s, uint64_t until_ns, bool *ret_is_fed)
{
	if (has_work(s) && !s->work.keeps_order && is_gone(s))
		abandon_work(s); /* notifications after that call are still processed */
	if (!send_some(s))
		return false;
	if (is_listening(s) && room_for_line(s) && !receive(s))
		return false;
	answer_lines(s, until_ns);
	return send_feed(s, until_ns, ret_is_fed) && !is_over(s);
}

/* One turn. Sets what the loop waits for, or waits for the next turn. */
static bool session_serve(struct rpc_session *s, uint64_t until_ns)
{
	bool is_fed, has_more, listens;

	s->is_held_up = false;
	s->active_ns = clock_mono_ns();
	if (!exchange(s, until_ns, &is_fed))
		return false;
	count_held(s);
	listens = is_listening(s);
	set_since(&s->half_since_ns, listens && rpc_frames_is_half(&s->in));
	set_since(&s->large_since_ns, unsent(s) > SMALL);
	set_large_work(s, s->has_large_work && unsent(s) > SMALL);
	s->is_held_up = s->is_held_up || (listens && !room_for_line(s)) ||
	                s->put_off != RPC_FOR_NOTHING;
	set_since(&s->held_since_ns, s->is_held_up);
	has_more = !is_busy(s) && rpc_frames_has_line(&s->in) && unsent(s) < SMALL;
	if (!s->is_held_up && (has_more || (is_fed && !unsent(s)))) {
		rpc_turns_wait(&s->server->turns, &s->turn);
		loop_watch(s->source, LOOP_PAUSED);
	} else if (has_work(s) && s->work.keeps_order) {
		loop_watch(s->source, unsent(s) ? LOOP_WRITE : LOOP_PAUSED);
	} else {
		loop_watch(s->source, (listens && room_for_line(s) ? LOOP_READ : 0) |
		                              (unsent(s) ? LOOP_WRITE : 0));
	}
	return true;
}

/* Since when the client has not finished its line or not read its answer; 0: it is not slow. */
static uint64_t slow_since(const struct rpc_session *s)
{
	return s->stuck_since_ns   ? s->stuck_since_ns
	       : s->large_since_ns ? s->large_since_ns
	                           : s->half_since_ns;
}

/* Whether hardly any of a large answer was read since the last sweep. If it was, and we are what is slow, that is not
 * the client's fault. */
static bool has_stalled(struct rpc_session *s)
{
	size_t before = s->swept_unsent;

	s->swept_unsent = s->large_since_ns ? unsent(s) : 0;
	return s->swept_unsent && before && before < unsent(s) + SMALL;
}

/* Whether the client was slow for too long and has to be disconnected. */
static bool is_too_slow(struct rpc_session *s, uint64_t now_ns)
{
	const struct rpc_server_options *o = &s->server->options;
	bool is_trusted = s->turn.user->is_trusted, has_stopped = has_stalled(s);
	uint64_t most_ns = !is_trusted && s->server->held >= HELD_BY_ALL_MAX ? SHORT_NS
	                                                                     : UINT64_MAX;

	if (!is_trusted && has_stopped &&
	    now_ns - s->large_since_ns >= MIN(o->large_answer_ns, most_ns))
		return true;
	if (s->stuck_since_ns)
		return now_ns - s->stuck_since_ns >= o->slow_reader_ns;
	if (!s->half_since_ns || now_ns - s->half_since_ns < MIN(o->half_line_ns, most_ns))
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

size_t rpc_server_held_max(const struct rpc_server *server)
{
	return server->held_max;
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
	const struct rpc_user *user = rpc_turns_user(&s->turns, uid);

	return user ? user->clients : 0;
}

static void session_drop(struct rpc_server *s, struct rpc_session *dead);

/* The connection of the user that has been idle for longest; those with a feed or a call come last. */
static struct rpc_session *find_idle(const struct rpc_server *s, const struct rpc_user *user)
{
	struct rpc_session *idle = NULL;

	for (struct rpc_session *at = s->sessions; at; at = at->next) {
		bool is_used = at->feed.next || is_busy(at), idle_is_used;

		if (at->turn.user != user)
			continue;
		idle_is_used = idle && (idle->feed.next || is_busy(idle));
		if (!idle || is_used < idle_is_used ||
		    (is_used == idle_is_used && at->active_ns < idle->active_ns))
			idle = at;
	}
	return idle;
}

/* A user that would still have as many connections as the one that comes gives one up. For trusted users,
 * any other does. */
static bool make_room(struct rpc_server *s, uid_t uid, bool is_trusted)
{
	const struct rpc_user *most = NULL;
	struct rpc_session *idle;

	for (const struct rpc_user *user = s->turns.users; user; user = user->next)
		if (!user->is_trusted && (!most || user->clients > most->clients))
			most = user;
	if (!most || most->clients <= (is_trusted ? 0 : clients_of(s, uid) + 1))
		return false;
	idle = find_idle(s, most);
	if (!idle)
		return false;
	end_with_error(idle, EUSERS, "too many connections: this one was idle for longest");
	(void)!send_some(idle);
	session_drop(s, idle);
	return true;
}

static unsigned strangers_max(const struct rpc_server_options *o)
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
	          (!is_trusted && s->strangers >= strangers_max(o))) &&
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
	struct rpc_session **at = &s->sessions;

	while (*at != dead)
		at = &(*at)->next;
	*at = dead->next;
	s->clients--;
	s->strangers -= !dead->turn.user->is_trusted;
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

static void serve_turn(struct rpc_turn *turn, uint64_t until_ns)
{
	struct rpc_session *session =
		(struct rpc_session *)((char *)turn - offsetof(struct rpc_session, turn));
	struct rpc_server *s = session->server;
	bool was_slow = slow_since(session) != 0;

	if (!session_serve(session, until_ns))
		session_drop(s, session);
	else if (!was_slow && slow_since(session))
		schedule_sweep(s);
}

static void on_session(void *self)
{
	struct rpc_session *session = self;

	if (!rpc_turns_ask(&session->server->turns, &session->turn))
		loop_watch(session->source, LOOP_PAUSED);
}

void rpc_server_answer(struct rpc_session *session, int r, const struct buf *result,
                       const struct err *err)
{
	answer_work(session, r, result, err);
	resume_others(session->server);
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

/* Trusted clients may read as slowly as they want. */
static void limit_socket(int fd)
{
	(void)!setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ SOCKET_BYTES }, sizeof(int));
}

static void accept_client(struct rpc_server *s, int take_fd)
{
	const struct rpc_server_options *o = &s->options;
	cleanup(closep) int fd = take_fd;
	struct rpc_server_peer peer;
	struct rpc_session *session;
	struct ucred cred;
	struct err err;
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
	if (!is_trusted)
		limit_socket(fd);
	session = xcalloc(1, sizeof *session);
	*session = (struct rpc_session){ .server = s, .fd = TAKE_FD(fd), .peer = peer };
	session->peer.session = session;
	session->active_ns = clock_mono_ns();
	session->out.max = RPC_SERVER_REPLY_MAX + SMALL;
	rpc_turns_enter(&s->turns, &session->turn, peer.uid, is_trusted);
	session->turn.user->put_off[RPC_FOR_NOTHING]++;
	if (loop_add_reader(s->loop, session->fd, on_session, session, &session->source, &err) <
	    0) {
		session_free(session);
		return;
	}
	session->next = s->sessions;
	s->sessions = session;
	s->clients++;
	s->strangers += !is_trusted;
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
	for (struct rpc_session *at = s->sessions, *next; at; at = next) {
		next = at->next;
		if (at->is_held_up || (has_news && at->feed.next && !unsent(at)))
			on_session(at);
	}
}

void rpc_server_wake(struct rpc_server *server)
{
	server->has_news = true;
	resume_others(server);
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
	if (!s->options.large_answer_ns)
		s->options.large_answer_ns = LARGE_ANSWER_NS;
	rpc_turns_init(&s->turns, loop, serve_turn);
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
	rpc_turns_done(&server->turns);
	closep(&server->fd);
	free(server);
}
