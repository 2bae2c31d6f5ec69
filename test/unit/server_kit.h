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

struct scene {
	struct loop *loop;
	struct rpc_server *server;
	struct rpc_server_options options;
	char dir[SCRATCH_DIR_MAX], path[96];
	int dir_fd, stop_pipe[2];
	bool admits;
	unsigned noted;
	unsigned fed, feed_end, feeds; /* numbers that were fed, up to which, and to how many */
	struct rpc_session *later[8];  /* who waits for an answer, in the order of asking */
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
	struct scene *sc = self;

	(void)peer, (void)params, (void)err;
	sc->noted++;
	json_bool(result, true);
	return 0;
}

static inline bool next_number(void *self, struct json *out)
{
	struct scene *sc = self;

	if (sc->fed == sc->feed_end)
		return false;
	json_u64(out, ++sc->fed);
	buf_putc(out->out, '\n');
	return true;
}

static inline void end_feed(void *self)
{
	struct scene *sc = self;

	sc->feeds--;
}

static inline int feed(void *self, const struct rpc_server_peer *peer, const json_t *params,
                       struct json *result, struct err *err)
{
	struct scene *sc = self;
	struct rpc_server_feed numbers = { sc, next_number, end_feed };

	(void)params, (void)err;
	sc->feeds++;
	rpc_server_feed(peer, &numbers);
	json_bool(result, true);
	return 0;
}

/* Ten more numbers for everybody. */
static inline int more(void *self, const struct rpc_server_peer *peer, const json_t *params,
                       struct json *result, struct err *err)
{
	struct scene *sc = self;

	(void)peer, (void)params, (void)err;
	sc->feed_end += 10;
	rpc_server_wake(sc->server);
	json_bool(result, true);
	return 0;
}

static inline bool admits(void *self, const struct rpc_server_peer *peer)
{
	const struct scene *sc = self;

	(void)peer;
	return sc->admits;
}

/* As a setup of cmocka has it, with the methods to serve. */
static inline int scene_open(const struct rpc_server_method *methods, void **state)
{
	struct scene *sc = xcalloc(1, sizeof *sc);
	struct err err;

	if (!scratch_dir(sc->dir) || pipe2(sc->stop_pipe, O_CLOEXEC) < 0)
		return -1;
	snprintf(sc->path, sizeof sc->path, "%s/sock", sc->dir);
	sc->dir_fd = open(sc->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sc->admits = true;
	sc->options = (struct rpc_server_options){
		.methods = methods, .self = sc, .admits = admits, .clients_max = 8
	};
	*state = sc;
	return loop_new(&sc->loop, &err);
}

static inline int scene_close(void **state)
{
	struct scene *sc = *state;

	rpc_server_close(sc->server);
	loop_free(sc->loop);
	unlink(sc->path);
	rmdir(sc->dir);
	close(sc->dir_fd);
	close(sc->stop_pipe[0]);
	close(sc->stop_pipe[1]);
	buf_done(&sc->answer);
	free(sc);
	return 0;
}

static inline void on_stop(void *self)
{
	struct scene *sc = self;

	loop_stop(sc->loop);
}

static inline void serve(struct scene *sc)
{
	struct err err = { 0 };
	int fd = -1;

	assert_int_equal(socket_address_listen(sc->dir_fd, sc->dir, "sock", 16, &fd, &err), 0);
	assert_int_equal(rpc_server_open(sc->loop, fd, &sc->options, &sc->server, &err), 0);
}

/* Runs the loop while the client's function runs in a thread. */
static inline void run_with(struct scene *sc, void *(*client)(void *))
{
	struct loop_source *stopper;
	pthread_t thread;
	struct err err;
	char c;

	if (!sc->server)
		serve(sc);
	assert_int_equal(loop_add_reader(sc->loop, sc->stop_pipe[0], on_stop, sc, &stopper, &err),
	                 0);
	assert_int_equal(pthread_create(&thread, NULL, client, sc), 0);
	assert_int_equal(loop_run(sc->loop, &err), 0);
	pthread_join(thread, NULL);
	assert_int_equal(read(sc->stop_pipe[0], &c, 1), 1);
	loop_remove(stopper);
}

static inline void *client_ends(struct scene *sc)
{
	(void)!write(sc->stop_pipe[1], "x", 1);
	return NULL;
}

static inline int dial(struct scene *sc)
{
	struct err err;
	int fd = -1;

	(void)!socket_address_connect(sc->path, clock_mono_ns() + 5 * NS_PER_S, &fd, &err);
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

/* Says sc->text, hangs up, and keeps what came back. */
static inline void *talk(void *self)
{
	struct scene *sc = self;
	int fd = dial(sc);

	(void)!send(fd, sc->text, sc->text_len, MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	read_to_end(fd, &sc->answer);
	close(fd);
	return client_ends(sc);
}

static inline const char *answer_to(struct scene *sc, const char *text)
{
	sc->text = text;
	sc->text_len = strlen(text);
	buf_reset(&sc->answer);
	run_with(sc, talk);
	return sc->answer.at ? sc->answer.at : "";
}

#define CALL(id, method, params)                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"" method "\",\"params\":" params "}\n"
