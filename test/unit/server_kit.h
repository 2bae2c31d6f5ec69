/* SPDX-License-Identifier: MIT */
/* server_kit.h - a server on a loop in this thread, with a few methods, and its clients in others.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "check.h"
#include "rpc/socket_address.h"
#include "rpc/rpc_server.h"
#include "rpc/rpc_session.h"

struct fixture {
	struct loop *loop;
	struct rpc_server *server;
	struct rpc_server_options options;
	char dir[SCRATCH_DIR_MAX], path[96];
	int dir_fd, stop_pipe[2];
	bool admits;
	unsigned noted;
	unsigned fed, feed_end, feeds; /* numbers that were fed, up to which, and to how many */
	struct rpc_session *later[8];  /* those that wait for an answer, in the order of asking */
	unsigned asked, abandoned;
	/* the client's side */
	const char *text;
	size_t text_len;
	struct buf answer;
	int code;
};

static inline int echo(void *self, const struct rpc_server_peer *peer, const json_t *params,
                       struct json *result, struct err *err)
{
	const char *text = json_string_value(json_object_get(params, "text"));

	(void)self;
	assert_int_equal(peer->pid, getpid());
	assert_int_equal(peer->uid, geteuid());
	if (!text)
		return err_set(err, EINVAL, "text is needed");
	json_str(result, text);
	return 0;
}

static inline int note(void *self, const struct rpc_server_peer *peer, const json_t *params,
                       struct json *result, struct err *err)
{
	struct fixture *fx = self;

	(void)peer, (void)params, (void)err;
	fx->noted++;
	json_bool(result, true);
	return 0;
}

static inline bool next_number(void *self, struct json *out)
{
	struct fixture *fx = self;

	if (fx->fed == fx->feed_end)
		return false;
	json_u64(out, ++fx->fed);
	buf_putc(out->out, '\n');
	return true;
}

static inline void end_feed(void *self)
{
	struct fixture *fx = self;

	fx->feeds--;
}

static inline int feed(void *self, const struct rpc_server_peer *peer, const json_t *params,
                       struct json *result, struct err *err)
{
	struct fixture *fx = self;
	struct rpc_server_feed numbers = { fx, next_number, end_feed };

	(void)params, (void)err;
	fx->feeds++;
	rpc_session_set_feed(peer->session, &numbers);
	json_bool(result, true);
	return 0;
}

/* Ten more numbers for everybody. */
static inline int more(void *self, const struct rpc_server_peer *peer, const json_t *params,
                       struct json *result, struct err *err)
{
	struct fixture *fx = self;

	(void)peer, (void)params, (void)err;
	fx->feed_end += 10;
	rpc_server_wake(fx->server);
	json_bool(result, true);
	return 0;
}

static inline bool admits(void *self, const struct rpc_server_peer *peer)
{
	const struct fixture *fx = self;

	(void)peer;
	return fx->admits;
}

/* As a setup of cmocka has it, with the methods to serve. */
static inline int fixture_open(const struct rpc_server_method *methods, void **state)
{
	struct fixture *fx = xcalloc(1, sizeof *fx);
	struct err err;

	if (!scratch_dir(fx->dir) || pipe2(fx->stop_pipe, O_CLOEXEC) < 0)
		return -1;
	snprintf(fx->path, sizeof fx->path, "%s/sock", fx->dir);
	fx->dir_fd = open(fx->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fx->admits = true;
	fx->options = (struct rpc_server_options){
		.methods = methods, .self = fx, .admits = admits, .clients_max = 8
	};
	*state = fx;
	return loop_new(&fx->loop, &err);
}

static inline int fixture_close(void **state)
{
	struct fixture *fx = *state;

	rpc_server_close(fx->server);
	loop_free(fx->loop);
	unlink(fx->path);
	rmdir(fx->dir);
	close(fx->dir_fd);
	close(fx->stop_pipe[0]);
	close(fx->stop_pipe[1]);
	buf_done(&fx->answer);
	free(fx);
	return 0;
}

static inline void on_stop(void *self)
{
	struct fixture *fx = self;

	loop_stop(fx->loop);
}

static inline void serve(struct fixture *fx)
{
	struct err err = { 0 };
	int fd = -1;

	assert_int_equal(socket_address_listen(fx->dir_fd, fx->dir, "sock", 16, &fd, &err), 0);
	assert_int_equal(rpc_server_open(fx->loop, fd, &fx->options, &fx->server, &err), 0);
}

/* Runs the loop while the client's function runs in a thread. */
static inline void run_with(struct fixture *fx, void *(*client)(void *))
{
	struct loop_source *stopper;
	pthread_t thread;
	struct err err;
	char c;

	if (!fx->server)
		serve(fx);
	assert_int_equal(loop_add_reader(fx->loop, fx->stop_pipe[0], on_stop, fx, &stopper, &err),
	                 0);
	assert_int_equal(pthread_create(&thread, NULL, client, fx), 0);
	assert_int_equal(loop_run(fx->loop, &err), 0);
	pthread_join(thread, NULL);
	assert_int_equal(read(fx->stop_pipe[0], &c, 1), 1);
	loop_remove(stopper);
}

static inline void *client_ends(struct fixture *fx)
{
	(void)!write(fx->stop_pipe[1], "x", 1);
	return NULL;
}

static inline int dial(struct fixture *fx)
{
	struct err err;
	int fd = -1;

	(void)!socket_address_connect(fx->path, clock_mono_ns() + 5 * NS_PER_S, &fd, &err);
	return fd;
}

static inline void read_to_end(int fd, struct buf *to)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(fd, bytes, sizeof bytes)) > 0)
		buf_put(to, bytes, (size_t)n);
}

/* Lines up to and with this one. */
static inline unsigned read_lines_until(int fd, const char *last, struct buf *to)
{
	unsigned lines = 0;
	char c;

	while (read(fd, &c, 1) == 1) {
		size_t n = strlen(last);

		buf_putc(to, c);
		lines += c == '\n';
		if (c == '\n' && to->len > n && memcmp(to->at + to->len - n - 1, last, n) == 0)
			break;
	}
	return lines;
}

/* Sends fx->text, hangs up, and keeps what came back. */
static inline void *talk(void *self)
{
	struct fixture *fx = self;
	int fd = dial(fx);

	(void)!send(fd, fx->text, fx->text_len, MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	read_to_end(fd, &fx->answer);
	close(fd);
	return client_ends(fx);
}

static inline const char *answer_to(struct fixture *fx, const char *text)
{
	fx->text = text;
	fx->text_len = strlen(text);
	buf_reset(&fx->answer);
	run_with(fx, talk);
	return fx->answer.at ? fx->answer.at : "";
}

#define CALL(id, method, params)                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"" method "\",\"params\":" params "}\n"
