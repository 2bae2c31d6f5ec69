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

struct fixture {
	char dir[SCRATCH_DIR_MAX], path[96];
	int dir_fd, listener, client_fd;
	struct loop *loop;
	struct announcer *announcer;
	unsigned connections;
};

static bool find_path(void *self, unsigned nth, char ret[ANNOUNCER_PATH_MAX])
{
	const struct fixture *fx = self;

	snprintf(ret, ANNOUNCER_PATH_MAX, "%s", nth == 0 ? "/nonexistent/x.sock" : fx->path);
	return nth < 2;
}

static void connected(void *self, struct announcer *a)
{
	struct fixture *fx = self;

	fx->connections++;
	announcer_send(a, "hello", "{\"n\":1}");
}

static int setup(void **state)
{
	struct fixture *fx = calloc(1, sizeof *fx);
	struct err err;

	if (!fx)
		return -1;
	*state = fx;
	if (!scratch_dir(fx->dir))
		return -1;
	snprintf(fx->path, sizeof fx->path, "%s/sock", fx->dir);
	fx->dir_fd = open(fx->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fx->listener = fx->client_fd = -1;
	return loop_new(&fx->loop, &err);
}

static int teardown(void **state)
{
	struct fixture *fx = *state;

	announcer_free(fx->announcer);
	loop_free(fx->loop);
	closep(&fx->client_fd);
	closep(&fx->listener);
	unlink(fx->path);
	closep(&fx->dir_fd);
	rmdir(fx->dir);
	free(fx);
	return 0;
}

static void listen_here(struct fixture *fx)
{
	struct err err;

	unlink(fx->path);
	assert_int_equal(socket_address_listen(fx->dir_fd, fx->dir, "sock", 8, &fx->listener, &err),
	                 0);
}

static void start_announcer(struct fixture *fx)
{
	const struct announcer_options options = { .find_path = find_path,
		                                   .connected = connected,
		                                   .self = fx };

	fx->announcer = announcer_new(fx->loop, &options);
}

static void assert_received(struct fixture *fx, const char *want)
{
	char text[256] = "";

	if (fx->client_fd < 0)
		fx->client_fd = accept4(fx->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fx->client_fd >= 0);
	assert_true(recv(fx->client_fd, text, sizeof text - 1, MSG_DONTWAIT) > 0);
	assert_string_equal(text, want);
}

static void stop(void *self)
{
	loop_stop(self);
}

static void run_for(struct fixture *fx, uint64_t ns)
{
	struct loop_source *timer = loop_add_timer(fx->loop, clock_mono_ns() + ns, stop, fx->loop);
	struct err err;

	assert_int_equal(loop_run(fx->loop, &err), 0);
	loop_remove(timer);
}

static void test_announcer__sends_the_state_and_then_news_to_a_server(void **state)
{
	struct fixture *fx = *state;

	listen_here(fx);
	start_announcer(fx);
	assert_received(fx, "{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{\"n\":1}}\n");
	announcer_send(fx->announcer, "more", "{}");
	assert_received(fx, "{\"jsonrpc\":\"2.0\",\"method\":\"more\",\"params\":{}}\n");
}

static void test_announcer__sends_nothing_without_a_server(void **state)
{
	struct fixture *fx = *state;

	start_announcer(fx);
	announcer_send(fx->announcer, "more", "{}");
	assert_int_equal(fx->connections, 0);
}

static void test_announcer__finds_a_server_that_starts_later_or_again(void **state)
{
	struct fixture *fx = *state;

	start_announcer(fx);
	listen_here(fx);
	run_for(fx, 3500 * NS_PER_MS);
	assert_int_equal(fx->connections, 1);
	assert_received(fx, "{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{\"n\":1}}\n");
	closep(&fx->client_fd);
	closep(&fx->listener);
	run_for(fx, 50 * NS_PER_MS);
	listen_here(fx);
	run_for(fx, 3500 * NS_PER_MS);
	assert_int_equal(fx->connections, 2);
}

static void test_announcer__disconnects_a_server_that_does_not_read(void **state)
{
	struct fixture *fx = *state;
	char *params = malloc((size_t)1 << 16), text[4096];

	listen_here(fx);
	start_announcer(fx);
	memset(params, ' ', (size_t)1 << 16);
	memcpy(params, "{", 1);
	memcpy(params + (1 << 16) - 2, "}", 2);
	for (int i = 0; i < 100; i++)
		announcer_send(fx->announcer, "more", params);
	free(params);
	fx->client_fd = accept4(fx->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fx->client_fd >= 0);
	while (recv(fx->client_fd, text, sizeof text, MSG_DONTWAIT) > 0)
		;
	assert_int_equal(recv(fx->client_fd, text, sizeof text, MSG_DONTWAIT), 0);
}

static void test_announcer__keeps_messages_until_there_is_a_server(void **state)
{
	struct fixture *fx = *state;

	start_announcer(fx);
	announcer_keep(fx->announcer, "one", "{}");
	announcer_send(fx->announcer, "lost", "{}");
	announcer_keep(fx->announcer, "two", "{}");
	listen_here(fx);
	announcer_connect(fx->announcer);
	announcer_keep(fx->announcer, "three", "{}");
	assert_received(fx, "{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{\"n\":1}}\n"
	                    "{\"jsonrpc\":\"2.0\",\"method\":\"one\",\"params\":{}}\n"
	                    "{\"jsonrpc\":\"2.0\",\"method\":\"two\",\"params\":{}}\n"
	                    "{\"jsonrpc\":\"2.0\",\"method\":\"three\",\"params\":{}}\n");
}

static void test_announcer__drops_the_oldest_and_counts_them(void **state)
{
	struct fixture *fx = *state;
	char params[32], text[4096];
	uint64_t dropped;
	ssize_t n;
	size_t lines = 0;

	start_announcer(fx);
	for (int i = 0; i < 2000; i++) {
		snprintf(params, sizeof params, "{\"n\":%d}", i);
		announcer_keep(fx->announcer, "more", params);
	}
	dropped = announcer_take_dropped(fx->announcer);
	assert_true(dropped > 0 && dropped < 2000);
	assert_int_equal(announcer_take_dropped(fx->announcer), 0);
	listen_here(fx);
	announcer_connect(fx->announcer);
	fx->client_fd = accept4(fx->listener, NULL, NULL, SOCK_CLOEXEC);
	while ((n = recv(fx->client_fd, text, sizeof text, MSG_DONTWAIT)) > 0)
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
