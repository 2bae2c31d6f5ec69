/* SPDX-License-Identifier: MIT */
#include "rpc/announcer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/socket_address.h"
#include "rpc/rpc_message.h"

#define RETRY_NS (3 * NS_PER_S)
#define CONNECT_NS NS_PER_MS        /* limit for a server whose queue is full */
#define KEPT_MAX ((size_t)64 << 10) /* a socket's buffer has room for it */

struct announcer {
	struct loop *loop;
	struct announcer_options options;
	int fd;
	struct loop_source *reader, *retry;
	struct buf line, kept;
	uint64_t dropped; /* of those that were to be kept */
};

static void disconnect(struct announcer *a)
{
	loop_remove(a->reader);
	a->reader = NULL;
	closep(&a->fd);
	loop_timer_set(a->retry, clock_mono_ns() + RETRY_NS);
}

/* Answers are read only so that they do not fill the socket. */
static void on_readable(void *self)
{
	struct announcer *a = self;
	char bytes[4096];
	ssize_t n = recv(a->fd, bytes, sizeof bytes, MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		disconnect(a);
}

static int connect_first(const struct announcer *a)
{
	char path[ANNOUNCER_PATH_MAX];
	struct err err;
	int fd = -1;

	for (unsigned i = 0; fd < 0 && a->options.find_path(a->options.self, i, path); i++)
		if (socket_address_connect_trusted(path, clock_mono_ns() + CONNECT_NS, &fd, &err) <
		    0)
			fd = -1;
	return fd;
}

/* A line that was sent only in part ends the connection: it would corrupt all that follow. */
static bool send_lines(struct announcer *a, const struct buf *lines)
{
	if (a->fd >= 0 &&
	    send(a->fd, lines->at, lines->len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)lines->len)
		return true;
	if (a->fd >= 0)
		disconnect(a);
	return false;
}

static void try_connect(void *self)
{
	struct announcer *a = self;
	struct err err;

	a->fd = connect_first(a);
	if (a->fd < 0 || loop_add_reader(a->loop, a->fd, on_readable, a, &a->reader, &err) < 0) {
		disconnect(a);
		return;
	}
	a->options.connected(a->options.self, a);
	if (a->kept.len && send_lines(a, &a->kept))
		buf_done(&a->kept);
}

void announcer_connect(struct announcer *a)
{
	if (a->fd < 0)
		try_connect(a);
}

struct announcer *announcer_new(struct loop *loop, const struct announcer_options *options)
{
	struct announcer *a = xcalloc(1, sizeof *a);

	a->loop = loop;
	a->options = *options;
	a->retry = loop_add_timer(loop, LOOP_NEVER, try_connect, a);
	try_connect(a);
	return a;
}

void announcer_free(struct announcer *a)
{
	if (!a)
		return;
	loop_remove(a->reader);
	loop_remove(a->retry);
	closep(&a->fd);
	buf_done(&a->line);
	buf_done(&a->kept);
	free(a);
}

static void write_line(struct announcer *a, const char *method, const char *params)
{
	struct json j = { .out = &a->line };

	buf_reset(&a->line);
	rpc_message_begin_notification(&j, method);
	json_raw(&j, params, strlen(params));
	rpc_message_end(&j);
}

void announcer_send(struct announcer *a, const char *method, const char *params)
{
	if (a->fd < 0)
		return;
	write_line(a, method, params);
	(void)send_lines(a, &a->line);
}

static void drop_oldest(struct announcer *a)
{
	const char *end = memchr(a->kept.at, '\n', a->kept.len);
	size_t len = (size_t)(end + 1 - a->kept.at);

	memmove(a->kept.at, a->kept.at + len, a->kept.len - len);
	a->kept.len -= len;
	a->dropped++;
}

void announcer_keep(struct announcer *a, const char *method, const char *params)
{
	write_line(a, method, params);
	if (send_lines(a, &a->line))
		return;
	while (a->kept.len && a->kept.len + a->line.len > KEPT_MAX)
		drop_oldest(a);
	buf_put(&a->kept, a->line.at, a->line.len);
}

uint64_t announcer_take_dropped(struct announcer *a)
{
	uint64_t dropped = a->dropped;

	a->dropped = 0;
	return dropped;
}
