/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_session.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/rpc_frame.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_params.h"

#define SHORT_NS NS_PER_S /* instead of the limits of the server, while memory is short */

/* Bytes that a connection may always hold: unsent ones that stop further lines and the feed, and those of an
 * unfinished line. What is larger counts against these limits. */
#define SMALL ((size_t)16 << 10)
#define HELD_BY_USER_MAX ((size_t)2 << 20)
#define HELD_BY_ALL_MAX ((size_t)24 << 20)
#define OUT_KEPT ((size_t)4 << 10)     /* bytes that an idle connection may keep */
#define SOCKET_BYTES ((int)(32 << 10)) /* unread ones in the kernel count as our memory, too */

struct rpc_session {
	struct rpc_sessions *all;
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
	size_t sent;         /* bytes of `out` that were sent */
	size_t held;         /* bytes that were counted for it */
	size_t swept_unsent; /* unsent ones of a large answer at the last sweep; 0: there was none */
	uint64_t active_ns;  /* when it was last served */
	uint64_t half_since_ns;   /* when the unfinished line began; 0: there is none */
	uint64_t stuck_since_ns;  /* when the client stopped reading; 0: it reads */
	uint64_t large_since_ns;  /* since when a large answer is unsent; 0: there is none */
	uint64_t held_since_ns;   /* since when it is held up */
	enum rpc_put_off put_off; /* what `again` waits for */
	bool is_held_up;          /* it could go on but for what its user, or all, hold */
	bool has_large_work;      /* its unsent answer was deferred, and is large */
	bool ends;                /* nothing more is read; closed when `out` is sent */
	bool omits_nulls;         /* the call that is being answered asked for that */
	bool feed_omits_nulls;    /* … and the one that started the feed */
};

/* Those that were held up go on. Deferred to a timer: the caller may be serving a connection. */
static void resume_others(struct rpc_session *s)
{
	if (s->all->waker)
		loop_timer_set(s->all->waker, 0);
}

static void drop_feed(struct rpc_session *s)
{
	if (s->feed.next)
		s->feed.close(s->feed.self);
	s->feed = (struct rpc_server_feed){ 0 };
}

void rpc_session_set_feed(struct rpc_session *s, const struct rpc_server_feed *take_feed)
{
	drop_feed(s);
	s->feed = *take_feed;
	s->feed_omits_nulls = s->omits_nulls;
}

const struct rpc_server_feed *rpc_session_feed(const struct rpc_session *s)
{
	return &s->feed;
}

void rpc_session_defer(struct rpc_session *s, const struct rpc_server_work *take_work)
{
	s->work = *take_work;
	s->turn.user->deferred++;
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
		resume_others(s);
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
	resume_others(s);
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
	       (user->held < HELD_BY_USER_MAX && s->all->held < HELD_BY_ALL_MAX);
}

static void set_put_off(struct rpc_session *s, enum rpc_put_off what)
{
	struct rpc_user *user = s->turn.user;

	if (s->put_off == what)
		return;
	user->put_off[s->put_off]--;
	user->put_off[what]++;
	s->put_off = what;
	resume_others(s);
}

/* Whether others of the user wait for that, and were there first. */
static bool is_behind(const struct rpc_session *s, enum rpc_put_off what)
{
	return !s->turn.user->is_trusted && s->put_off != what && s->turn.user->put_off[what];
}

bool rpc_session_may_defer(const struct rpc_session *s)
{
	const struct rpc_user *user = s->turn.user;

	return user->is_trusted ||
	       (!user->deferred && s->all->held < HELD_BY_ALL_MAX && !is_behind(s, RPC_FOR_WORK));
}

static void count_held(struct rpc_session *s)
{
	struct rpc_user *user = s->turn.user;
	size_t held = s->out.cap + s->in.bytes.cap;
	bool had_memory = has_memory(s);

	user->held += held - s->held;
	if (!user->is_trusted)
		s->all->held += held - s->held;
	s->held = held;
	if (!had_memory && has_memory(s))
		resume_others(s);
}

void rpc_session_free(struct rpc_session *s)
{
	struct rpc_session **at = &s->all->first;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	loop_remove(s->source);
	abandon_work(s);
	set_large_work(s, false);
	set_put_off(s, RPC_FOR_NOTHING);
	drop_feed(s);
	close(s->fd);
	rpc_frames_done(&s->in);
	buf_done(&s->out);
	count_held(s);
	rpc_turns_leave(&s->all->turns, &s->turn);
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
	const struct rpc_server_method *method = find_method(s->all->methods, m->method);
	struct json j = { .out = &s->out };
	struct err err = { 0 };
	int r;

	if (method && method->only_reads && !m->id)
		return; /* nobody reads the answer */
	rpc_message_begin_result(&j, m->id);
	r = nulls_param(m->params, &s->omits_nulls, &err);
	if (r == 0)
		r = method ? method->call(s->all->self, &s->peer, m->params, &j, &err)
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

void rpc_session_refuse(struct rpc_session *s, int code, const char *why)
{
	end_with_error(s, code, why);
	(void)!send_some(s);
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

/* Whether it has waited longest of the user's sessions that wait for the same. */
static bool is_first(const struct rpc_session *s)
{
	for (const struct rpc_session *at = s->all->first; at; at = at->next)
		if (at->turn.user == s->turn.user && at->put_off == s->put_off &&
		    at->held_since_ns < s->held_since_ns)
			return false;
	return true;
}

static bool may_begin_again(struct rpc_session *s)
{
	bool has_room = s->put_off == RPC_FOR_MEMORY ? has_memory(s) : rpc_session_may_defer(s);

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

void rpc_session_send_rest(struct rpc_session *s)
{
	bool has_more;

	(void)!send_feed(s, 0, &has_more);
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

bool rpc_session_serve(struct rpc_session *s, uint64_t until_ns)
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
		rpc_turns_wait(&s->all->turns, &s->turn);
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

bool rpc_session_is_too_slow(struct rpc_session *s, uint64_t now_ns)
{
	const struct rpc_sessions *o = s->all;
	bool is_trusted = s->turn.user->is_trusted, has_stopped = has_stalled(s);
	uint64_t most_ns = !is_trusted && s->all->held >= HELD_BY_ALL_MAX ? SHORT_NS : UINT64_MAX;

	if (!is_trusted && has_stopped &&
	    now_ns - s->large_since_ns >= MIN(o->large_answer_ns, most_ns))
		return true;
	if (s->stuck_since_ns)
		return now_ns - s->stuck_since_ns >= o->slow_reader_ns;
	if (!s->half_since_ns || now_ns - s->half_since_ns < MIN(o->half_line_ns, most_ns))
		return false;
	rpc_session_refuse(s, ETIME, "timed out in the middle of a line");
	return true;
}

bool rpc_session_is_slow(const struct rpc_session *s)
{
	return slow_since(s) != 0;
}

bool rpc_session_is_used(const struct rpc_session *s)
{
	return s->feed.next || is_busy(s);
}

uint64_t rpc_session_active_ns(const struct rpc_session *s)
{
	return s->active_ns;
}

const struct rpc_user *rpc_session_user(const struct rpc_session *s)
{
	return s->turn.user;
}

struct rpc_session *rpc_session_next(const struct rpc_session *s)
{
	return s->next;
}

struct rpc_sessions *rpc_session_all(const struct rpc_session *s)
{
	return s->all;
}

struct rpc_session *rpc_session_of_turn(struct rpc_turn *turn)
{
	return (struct rpc_session *)((char *)turn - offsetof(struct rpc_session, turn));
}

static void on_session(void *self)
{
	struct rpc_session *session = self;

	if (!rpc_turns_ask(&session->all->turns, &session->turn))
		loop_watch(session->source, LOOP_PAUSED);
}

void rpc_session_answer(struct rpc_session *s, int r, const struct buf *result,
                        const struct err *err)
{
	answer_work(s, r, result, err);
	resume_others(s);
	on_session(s);
}

void rpc_session_call_again(struct rpc_session *s)
{
	struct rpc_message m = s->again;

	s->again = (struct rpc_message){ 0 };
	forget_work(s);
	call_method(s, &m, s->out.len);
	rpc_message_done(&m);
	on_session(s);
}

void rpc_session_resume(struct rpc_session *s, bool has_news)
{
	if (s->is_held_up || (has_news && s->feed.next && !unsent(s)))
		on_session(s);
}

/* Trusted clients may read as slowly as they want. */
static void limit_socket(int fd)
{
	(void)!setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ SOCKET_BYTES }, sizeof(int));
}

struct rpc_session *rpc_session_new(struct rpc_sessions *all, int take_fd,
                                    const struct rpc_server_peer *peer, bool is_trusted)
{
	struct rpc_session *s = xcalloc(1, sizeof *s);
	struct err err;

	*s = (struct rpc_session){ .all = all, .next = all->first, .fd = take_fd, .peer = *peer };
	s->peer.session = s;
	s->active_ns = clock_mono_ns();
	s->out.max = RPC_SERVER_REPLY_MAX + SMALL;
	all->first = s;
	if (!is_trusted)
		limit_socket(take_fd);
	rpc_turns_enter(&all->turns, &s->turn, peer->uid, is_trusted);
	s->turn.user->put_off[RPC_FOR_NOTHING]++;
	if (loop_add_reader(all->loop, s->fd, on_session, s, &s->source, &err) < 0) {
		rpc_session_free(s);
		return NULL;
	}
	return s;
}
