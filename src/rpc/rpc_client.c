/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/socket_address.h"
#include "rpc/rpc_frame.h"
#include "rpc/rpc_message.h"

#define REPLY_MAX ((size_t)33 << 20) /* slightly more than servers send */

struct rpc_client {
	int fd;
	uint64_t last_id;
	struct rpc_frames in;
	bool was_refused;
};

int rpc_client_open(const char *path, uint64_t deadline_ns, struct rpc_client **ret,
                    struct err *err)
{
	cleanup(rpc_client_closep) struct rpc_client *c = xcalloc(1, sizeof *c);

	c->in.max = REPLY_MAX;
	c->fd = -1;
	if (socket_address_connect_trusted(path, deadline_ns, &c->fd, err) < 0)
		return -err->code;
	*ret = TAKE_PTR(c);
	return 0;
}

struct rpc_client *rpc_client_adopt(int take_fd)
{
	struct rpc_client *c = xcalloc(1, sizeof *c);

	c->in.max = REPLY_MAX;
	c->fd = take_fd;
	return c;
}

void rpc_client_close(struct rpc_client *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	rpc_frames_done(&c->in);
	free(c);
}

/* After a call that failed: waits until it may be tried again. -ETIMEDOUT at the deadline. */
static int wait_to_retry(int fd, short events, uint64_t deadline_ns)
{
	uint64_t now = clock_mono_ns();
	uint64_t left_ms = now < deadline_ns ? (deadline_ns - now) / NS_PER_MS + 1 : 0;
	struct pollfd p = { .fd = fd, .events = events };
	int n;

	if (errno == EINTR)
		return 0;
	if (errno != EAGAIN)
		return -errno;
	n = poll(&p, 1, (int)MIN(left_ms, (uint64_t)INT_MAX));
	if (n < 0 && errno != EINTR)
		return -errno;
	return n == 0 && clock_mono_ns() >= deadline_ns ? -ETIMEDOUT : 0;
}

static int send_all(int fd, const char *bytes, size_t n, uint64_t deadline_ns)
{
	int r = 0;

	while (n && r == 0) {
		ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		r = sent < 0 ? wait_to_retry(fd, POLLOUT, deadline_ns) : 0;
		bytes += MAX(sent, 0);
		n -= (size_t)MAX(sent, 0);
	}
	return r;
}

static int receive(struct rpc_client *c, uint64_t deadline_ns)
{
	char bytes[16 << 10];
	ssize_t n = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT);

	if (n == 0)
		return -ECONNRESET;
	if (n < 0)
		return wait_to_retry(c->fd, POLLIN, deadline_ns);
	rpc_frames_put(&c->in, bytes, (size_t)n);
	return 0;
}

static int read_line(struct rpc_client *c, uint64_t deadline_ns, struct scan *ret)
{
	for (;;) {
		enum rpc_frame_next next = rpc_frames_next(&c->in, ret);
		int r = next == RPC_FRAME_NONE ? receive(c, deadline_ns) : 0;

		if (next != RPC_FRAME_NONE)
			return next == RPC_FRAME_TOO_LONG ? -EMSGSIZE : 0;
		if (r < 0)
			return r;
	}
}

static int set_refusal(struct rpc_client *c, const json_t *error, struct err *err)
{
	const json_t *data = json_object_get(error, "data");
	const char *word = json_string_value(json_object_get(data, "code"));
	const char *text = json_string_value(json_object_get(error, "message"));

	c->was_refused = true;
	return err_set(err, word ? rpc_message_error_errno(word) : EIO, "%s",
	               text ? text : "the server refused the call without a reason");
}

/* 1: not the answer to the last call, but an older one or a notification. An error without an id
 * concerns the whole connection, so it counts as the answer. */
static int match_reply(struct rpc_client *c, const json_t *reply, json_t **ret, struct err *err)
{
	uint64_t id = c->last_id;
	const json_t *got = json_object_get(reply, "id"), *error = json_object_get(reply, "error");
	json_t *result = json_object_get(reply, "result");

	if (json_is_object(error) && (json_is_null(got) || (uint64_t)json_integer_value(got) == id))
		return set_refusal(c, error, err);
	if (!json_is_integer(got) || (uint64_t)json_integer_value(got) != id)
		return 1;
	if (!result)
		return err_set(err, EPROTO, "the answer has neither result nor error");
	if (ret)
		*ret = json_incref(result);
	return 0;
}

/* Answers may be larger and have more values than requests, because the server is trusted. */
static int read_reply(struct rpc_client *c, uint64_t deadline_ns, json_t **ret, struct err *err)
{
	struct scan line;
	json_error_t error;
	json_t *reply;
	int r = read_line(c, deadline_ns, &line);

	if (r < 0)
		return err_set(err, -r, "wait for an answer: %s", strerror(-r));
	reply = json_loadb(line.p, scan_left(&line), 0, &error);
	if (!reply) {
		rpc_message_json_error(line, &error, err);
		return err_wrap(err, "read the answer");
	}
	*ret = reply;
	return 0;
}

static int send_request(struct rpc_client *c, const char *method, const char *params,
                        uint64_t deadline_ns, struct err *err)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };
	int r;

	rpc_message_put_request(&j, ++c->last_id, method, params);
	r = send_all(c->fd, out.at, out.len, deadline_ns);
	buf_done(&out);
	return r < 0 ? err_set(err, -r, "send '%s': %s", method, strerror(-r)) : 0;
}

int rpc_client_call(struct rpc_client *c, const char *method, const char *params,
                    uint64_t deadline_ns, json_t **ret_result, struct err *err)
{
	int r = send_request(c, method, params, deadline_ns, err);

	c->was_refused = false;
	/* A server that refuses the connection sends the reason before it closes it: read on. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		return r;
	do {
		json_t *reply;

		r = read_reply(c, deadline_ns, &reply, err);
		if (r < 0)
			return r;
		r = match_reply(c, reply, ret_result, err);
		json_decref(reply);
	} while (r > 0);
	return r;
}

bool rpc_client_was_refused(const struct rpc_client *c)
{
	return c->was_refused;
}

int rpc_client_next(struct rpc_client *c, uint64_t deadline_ns, json_t **ret, struct err *err)
{
	for (;;) {
		json_t *message;
		int r = read_reply(c, deadline_ns, &message, err);

		if (r < 0)
			return r;
		if (json_object_get(message, "method")) {
			*ret = message;
			return 0;
		}
		json_decref(message);
	}
}

int rpc_client_post(struct rpc_client *c, const char *method, const char *params,
                    uint64_t deadline_ns, uint64_t *ret_id, struct err *err)
{
	int r = send_request(c, method, params, deadline_ns, err);

	if (r == 0)
		*ret_id = c->last_id;
	return r;
}

int rpc_client_poll(struct rpc_client *c, struct scan *ret, struct err *err)
{
	for (;;) {
		enum rpc_frame_next next = rpc_frames_next(&c->in, ret);
		char bytes[RPC_FRAME_CHUNK];
		ssize_t n;

		if (next == RPC_FRAME_LINE)
			return 0;
		if (next == RPC_FRAME_TOO_LONG)
			return err_set(err, EMSGSIZE, "the answer is too long");
		n = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT);
		if (n > 0)
			rpc_frames_put(&c->in, bytes, (size_t)n);
		else if (n == 0)
			return err_set(err, ECONNRESET, "the server closed the connection");
		else if (errno != EINTR)
			return err_set(err, errno, "read an answer: %s", strerror(errno));
	}
}

int rpc_client_fd(const struct rpc_client *c)
{
	return c->fd;
}
