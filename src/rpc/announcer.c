/* SPDX-License-Identifier: MIT */
#include "rpc/announcer.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/socket_address.h"
#include "rpc/rpc_message.h"

#define RETRY_NS (3 * NS_PER_S)
#define CONNECT_NS NS_PER_MS /* the most that a full queue may cost us */

struct announcer {
	struct loop *loop;
	struct announcer_options options;
	int fd;
	struct loop_source *reader, *retry;
	struct buf line;
};

bool announcer_is_heard(const struct announcer *h)
{
	return h->fd >= 0;
}

static void connect_some(struct announcer *h);

static void on_retry(void *self)
{
	connect_some(self);
}

static void want_retry(struct announcer *h)
{
	uint64_t when = clock_mono_ns() + RETRY_NS;
	struct err err;

	if (h->retry)
		loop_timer_set(h->retry, when);
	else if (loop_add_timer(h->loop, when, on_retry, h, &h->retry, &err) < 0)
		h->retry = NULL; /* then nobody is told */
}

static void leave(struct announcer *h)
{
	loop_remove(h->reader);
	h->reader = NULL;
	closep(&h->fd);
	want_retry(h);
}

/* Answers are not read for what they say, only so that they do not pile up. */
static void on_readable(void *self)
{
	struct announcer *h = self;
	char bytes[4096];
	ssize_t n = recv(h->fd, bytes, sizeof bytes, MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		leave(h);
}

/* As a client: what we tell is for root and ourselves only. */
static bool is_trusted(int fd)
{
	struct ucred cred;

	return socket_address_peer(fd, &cred) == 0 && (cred.uid == 0 || cred.uid == geteuid());
}

static int connect_one(const struct announcer *h)
{
	char path[ANNOUNCER_PATH_MAX];
	struct err err;
	int fd = -1;

	for (unsigned i = 0; h->options.place(h->options.self, i, path); i++) {
		if (socket_address_connect(path, clock_mono_ns() + CONNECT_NS, &fd, &err) < 0)
			continue;
		if (is_trusted(fd))
			return fd;
		closep(&fd);
	}
	return -1;
}

static void connect_some(struct announcer *h)
{
	struct err err;

	h->fd = connect_one(h);
	if (h->fd < 0) {
		want_retry(h);
		return;
	}
	if (loop_add_reader(h->loop, h->fd, on_readable, h, &h->reader, &err) < 0)
		leave(h);
	else
		h->options.greet(h->options.self, h);
}

struct announcer *announcer_new(struct loop *loop, const struct announcer_options *options)
{
	struct announcer *h = xcalloc(1, sizeof *h);

	h->loop = loop;
	h->options = *options;
	connect_some(h);
	return h;
}

void announcer_free(struct announcer *h)
{
	if (!h)
		return;
	loop_remove(h->reader);
	loop_remove(h->retry);
	closep(&h->fd);
	buf_done(&h->line);
	free(h);
}

/* A line that does not fit as a whole ends it: half a line would spoil all that follow. */
void announcer_say(struct announcer *h, const char *method, const char *params)
{
	struct json j = { .out = &h->line };

	if (h->fd < 0)
		return;
	buf_reset(&h->line);
	rpc_message_begin_notification(&j, method);
	json_raw(&j, params, strlen(params));
	rpc_message_end_notification(&j);
	if (send(h->fd, h->line.at, h->line.len, MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)h->line.len)
		leave(h);
}
