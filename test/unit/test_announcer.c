/* SPDX-License-Identifier: MIT */
#include "rpc/announcer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "rpc/socket_address.h"

struct scene {
	char dir[SCRATCH_DIR_MAX], path[96];
	int dir_fd, listener, client_fd;
	struct loop *loop;
	struct announcer *announcer;
	unsigned connections;
};

static bool find_path(void *self, unsigned nth, char ret[ANNOUNCER_PATH_MAX])
{
	const struct scene *sc = self;

	snprintf(ret, ANNOUNCER_PATH_MAX, "%s", nth == 0 ? "/nonexistent/x.sock" : sc->path);
	return nth < 2;
}

static void connected(void *self, struct announcer *a)
{
	struct scene *sc = self;

	sc->connections++;
	announcer_send(a, "hello", "{\"n\":1}");
}

static int setup(void **state)
{
	struct scene *sc = calloc(1, sizeof *sc);
	struct err err;

	if (!sc)
		return -1;
	*state = sc;
	if (!scratch_dir(sc->dir))
		return -1;
	snprintf(sc->path, sizeof sc->path, "%s/sock", sc->dir);
	sc->dir_fd = open(sc->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	sc->listener = sc->client_fd = -1;
	return loop_new(&sc->loop, &err);
}

static int teardown(void **state)
{
	struct scene *sc = *state;

	announcer_free(sc->announcer);
	loop_free(sc->loop);
	closep(&sc->client_fd);
	closep(&sc->listener);
	unlink(sc->path);
	closep(&sc->dir_fd);
	rmdir(sc->dir);
	free(sc);
	return 0;
}

static void listen_here(struct scene *sc)
{
	struct err err;

	unlink(sc->path);
	assert_int_equal(socket_address_listen(sc->dir_fd, sc->dir, "sock", 8, &sc->listener, &err),
	                 0);
}

static void start_announcer(struct scene *sc)
{
	const struct announcer_options options = { .find_path = find_path,
		                                   .connected = connected,
		                                   .self = sc };

	sc->announcer = announcer_new(sc->loop, &options);
}

static void assert_received(struct scene *sc, const char *want)
{
	char text[256] = "";

	if (sc->client_fd < 0)
		sc->client_fd = accept4(sc->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(sc->client_fd >= 0);
	assert_true(recv(sc->client_fd, text, sizeof text - 1, MSG_DONTWAIT) > 0);
	assert_string_equal(text, want);
}

static void stop(void *self)
{
	loop_stop(self);
}

static void run_for(struct scene *sc, uint64_t ns)
{
	struct loop_source *timer = loop_add_timer(sc->loop, clock_mono_ns() + ns, stop, sc->loop);
	struct err err;

	assert_int_equal(loop_run(sc->loop, &err), 0);
	loop_remove(timer);
}

static void test_announcer__sends_the_state_and_then_news_to_a_server(void **state)
{
	struct scene *sc = *state;

	listen_here(sc);
	start_announcer(sc);
	assert_received(sc, "{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{\"n\":1}}\n");
	announcer_send(sc->announcer, "more", "{}");
	assert_received(sc, "{\"jsonrpc\":\"2.0\",\"method\":\"more\",\"params\":{}}\n");
}

static void test_announcer__sends_nothing_without_a_server(void **state)
{
	struct scene *sc = *state;

	start_announcer(sc);
	announcer_send(sc->announcer, "more", "{}");
	assert_int_equal(sc->connections, 0);
}

static void test_announcer__finds_a_server_that_starts_later_or_again(void **state)
{
	struct scene *sc = *state;

	start_announcer(sc);
	listen_here(sc);
	run_for(sc, 3500 * NS_PER_MS);
	assert_int_equal(sc->connections, 1);
	assert_received(sc, "{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{\"n\":1}}\n");
	closep(&sc->client_fd);
	closep(&sc->listener);
	run_for(sc, 50 * NS_PER_MS);
	listen_here(sc);
	run_for(sc, 3500 * NS_PER_MS);
	assert_int_equal(sc->connections, 2);
}

static void test_announcer__disconnects_a_server_that_does_not_read(void **state)
{
	struct scene *sc = *state;
	char *params = malloc((size_t)1 << 16), text[4096];

	listen_here(sc);
	start_announcer(sc);
	memset(params, ' ', (size_t)1 << 16);
	memcpy(params, "{", 1);
	memcpy(params + (1 << 16) - 2, "}", 2);
	for (int i = 0; i < 100; i++)
		announcer_send(sc->announcer, "more", params);
	free(params);
	sc->client_fd = accept4(sc->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(sc->client_fd >= 0);
	while (recv(sc->client_fd, text, sizeof text, MSG_DONTWAIT) > 0)
		;
	assert_int_equal(recv(sc->client_fd, text, sizeof text, MSG_DONTWAIT), 0);
}

static void test_announcer__keeps_messages_until_there_is_a_server(void **state)
{
	struct scene *sc = *state;

	start_announcer(sc);
	announcer_keep(sc->announcer, "one", "{}");
	announcer_send(sc->announcer, "lost", "{}");
	announcer_keep(sc->announcer, "two", "{}");
	listen_here(sc);
	announcer_connect(sc->announcer);
	announcer_keep(sc->announcer, "three", "{}");
	assert_received(sc, "{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{\"n\":1}}\n"
	                    "{\"jsonrpc\":\"2.0\",\"method\":\"one\",\"params\":{}}\n"
	                    "{\"jsonrpc\":\"2.0\",\"method\":\"two\",\"params\":{}}\n"
	                    "{\"jsonrpc\":\"2.0\",\"method\":\"three\",\"params\":{}}\n");
}

static void test_announcer__drops_the_oldest_and_counts_them(void **state)
{
	struct scene *sc = *state;
	char params[32], text[4096];
	uint64_t dropped;
	ssize_t n;
	size_t lines = 0;

	start_announcer(sc);
	for (int i = 0; i < 2000; i++) {
		snprintf(params, sizeof params, "{\"n\":%d}", i);
		announcer_keep(sc->announcer, "more", params);
	}
	dropped = announcer_take_dropped(sc->announcer);
	assert_true(dropped > 0 && dropped < 2000);
	assert_int_equal(announcer_take_dropped(sc->announcer), 0);
	listen_here(sc);
	announcer_connect(sc->announcer);
	sc->client_fd = accept4(sc->listener, NULL, NULL, SOCK_CLOEXEC);
	while ((n = recv(sc->client_fd, text, sizeof text, MSG_DONTWAIT)) > 0)
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
	assert_int_equal(lines, 1 + 2000 - dropped);
}

#define ANNOUNCER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(ANNOUNCER_TEST(test_announcer__sends_the_state_and_then_news_to_a_server),
          ANNOUNCER_TEST(test_announcer__sends_nothing_without_a_server),
          ANNOUNCER_TEST(test_announcer__finds_a_server_that_starts_later_or_again),
          ANNOUNCER_TEST(test_announcer__disconnects_a_server_that_does_not_read),
          ANNOUNCER_TEST(test_announcer__keeps_messages_until_there_is_a_server),
          ANNOUNCER_TEST(test_announcer__drops_the_oldest_and_counts_them))
