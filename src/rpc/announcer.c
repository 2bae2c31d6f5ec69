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
#define CONNECT_NS NS_PER_MS /* limit for a server whose queue is full */

struct announcer {
	struct loop *loop;
	struct announcer_options options;
	int fd;
	struct loop_source *reader, *retry;
	struct buf line;
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

static void try_connect(void *self)
{
	struct announcer *a = self;
	struct err err;

	a->fd = connect_first(a);
	if (a->fd < 0 || loop_add_reader(a->loop, a->fd, on_readable, a, &a->reader, &err) < 0)
		disconnect(a);
	else
		a->options.connected(a->options.self, a);
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
	free(a);
}

/* A line that was sent only in part ends the connection: it would corrupt all that follow. */
void announcer_send(struct announcer *a, const char *method, const char *params)
{
	struct json j = { .out = &a->line };

	if (a->fd < 0)
		return;
	buf_reset(&a->line);
	rpc_message_begin_notification(&j, method);
	json_raw(&j, params, strlen(params));
	rpc_message_end(&j);
	if (send(a->fd, a->line.at, a->line.len, MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)a->line.len)
		disconnect(a);
}
