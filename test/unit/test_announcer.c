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
	char dir[64], path[96];
	int dir_fd, listener, heard_by;
	struct loop *loop;
	struct announcer *herald;
	unsigned greetings;
};

static bool place(void *self, unsigned nth, char ret[ANNOUNCER_PATH_MAX])
{
	const struct scene *sc = self;

	snprintf(ret, ANNOUNCER_PATH_MAX, "%s", nth == 0 ? "/nonexistent/x.sock" : sc->path);
	return nth < 2;
}

static void greet(void *self, struct announcer *h)
{
	struct scene *sc = self;

	sc->greetings++;
	announcer_say(h, "hello", "{\"n\":1}");
}

static int setup(void **state)
{
	struct scene *sc = calloc(1, sizeof *sc);
	struct err err;

	if (!sc)
		return -1;
	*state = sc;
	snprintf(sc->dir, sizeof sc->dir, "/tmp/proctor-herald-XXXXXX");
	if (!mkdtemp(sc->dir))
		return -1;
	snprintf(sc->path, sizeof sc->path, "%s/sock", sc->dir);
	sc->dir_fd = open(sc->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	sc->listener = sc->heard_by = -1;
	return loop_new(&sc->loop, &err);
}

static int teardown(void **state)
{
	struct scene *sc = *state;

	announcer_free(sc->herald);
	loop_free(sc->loop);
	closep(&sc->heard_by);
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

static void begin(struct scene *sc)
{
	const struct announcer_options options = { .place = place, .greet = greet, .self = sc };

	sc->herald = announcer_new(sc->loop, &options);
}

static void assert_heard(struct scene *sc, const char *want)
{
	char text[256] = "";

	if (sc->heard_by < 0)
		sc->heard_by = accept4(sc->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(sc->heard_by >= 0);
	assert_true(recv(sc->heard_by, text, sizeof text - 1, MSG_DONTWAIT) > 0);
	assert_string_equal(text, want);
}

static void stop(void *self)
{
	loop_stop(self);
}

static void run_for(struct scene *sc, uint64_t ns)
{
	struct loop_source *timer = NULL;
	struct err err;

	assert_int_equal(
		loop_add_timer(sc->loop, clock_mono_ns() + ns, stop, sc->loop, &timer, &err), 0);
	assert_int_equal(loop_run(sc->loop, &err), 0);
	loop_remove(timer);
}

static void test_announcer__greets_who_listens_and_tells_him_more(void **state)
{
	struct scene *sc = *state;

	listen_here(sc);
	begin(sc);
	assert_true(announcer_is_heard(sc->herald));
	assert_heard(sc, "{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{\"n\":1}}\n");
	announcer_say(sc->herald, "more", "{}");
	assert_heard(sc, "{\"jsonrpc\":\"2.0\",\"method\":\"more\",\"params\":{}}\n");
}

static void test_announcer__says_nothing_while_nobody_listens(void **state)
{
	struct scene *sc = *state;

	begin(sc);
	assert_false(announcer_is_heard(sc->herald));
	announcer_say(sc->herald, "more", "{}");
	assert_int_equal(sc->greetings, 0);
}

static void test_announcer__finds_one_that_comes_later_and_one_that_comes_back(void **state)
{
	struct scene *sc = *state;

	begin(sc);
	listen_here(sc);
	run_for(sc, 3500 * NS_PER_MS);
	assert_int_equal(sc->greetings, 1);
	assert_heard(sc, "{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{\"n\":1}}\n");
	closep(&sc->heard_by);
	closep(&sc->listener);
	run_for(sc, 50 * NS_PER_MS);
	assert_false(announcer_is_heard(sc->herald));
	listen_here(sc);
	run_for(sc, 3500 * NS_PER_MS);
	assert_int_equal(sc->greetings, 2);
}

static void test_announcer__leaves_who_does_not_read(void **state)
{
	struct scene *sc = *state;
	char *params = malloc((size_t)1 << 16);

	listen_here(sc);
	begin(sc);
	memset(params, ' ', (size_t)1 << 16);
	memcpy(params, "{", 1);
	memcpy(params + (1 << 16) - 2, "}", 2);
	for (int i = 0; i < 100 && announcer_is_heard(sc->herald); i++)
		announcer_say(sc->herald, "more", params);
	assert_false(announcer_is_heard(sc->herald));
	free(params);
}

#define HERALD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(HERALD_TEST(test_announcer__greets_who_listens_and_tells_him_more),
          HERALD_TEST(test_announcer__says_nothing_while_nobody_listens),
          HERALD_TEST(test_announcer__finds_one_that_comes_later_and_one_that_comes_back),
          HERALD_TEST(test_announcer__leaves_who_does_not_read))
