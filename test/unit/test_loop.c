/* SPDX-License-Identifier: MIT */
#include "base/loop.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"

struct scene {
	struct loop *loop;
	struct loop_source *timer, *reader;
	unsigned fired, read, caught;
	int pipe[2];
	uint64_t last_ns;
};

static int setup(void **state)
{
	struct scene *sc = calloc(1, sizeof *sc);
	struct err err;

	if (!sc || pipe(sc->pipe) < 0)
		return -1;
	*state = sc;
	return loop_new(&sc->loop, &err);
}

static int teardown(void **state)
{
	struct scene *sc = *state;

	loop_free(sc->loop);
	close(sc->pipe[0]);
	close(sc->pipe[1]);
	free(sc);
	return 0;
}

static void stop(void *self)
{
	struct scene *sc = self;

	loop_stop(sc->loop);
}

static void fire_thrice(void *self)
{
	struct scene *sc = self;

	sc->last_ns = clock_mono_ns();
	if (++sc->fired == 3)
		loop_stop(sc->loop);
	else
		loop_timer_set(sc->timer, sc->last_ns + 5 * NS_PER_MS);
}

static void test_loop_timer__fires_once_each_time_it_is_set(void **state)
{
	struct scene *sc = *state;
	uint64_t began = clock_mono_ns();
	struct err err;

	sc->timer = loop_add_timer(sc->loop, began + 5 * NS_PER_MS, fire_thrice, sc);
	assert_int_equal(loop_run(sc->loop, &err), 0);
	assert_int_equal(sc->fired, 3);
	assert_true(sc->last_ns - began >= 14 * NS_PER_MS);
}

static void test_loop_timer__fires_at_once_for_a_time_that_is_past(void **state)
{
	struct scene *sc = *state;
	struct err err;

	loop_add_timer(sc->loop, 1, stop, sc);
	assert_int_equal(loop_run(sc->loop, &err), 0);
}

static void count_timer(void *self)
{
	struct scene *sc = self;

	sc->fired++;
}

static void read_byte(void *self)
{
	struct scene *sc = self;
	char c;

	assert_int_equal(read(sc->pipe[0], &c, 1), 1);
	if (++sc->read == 2)
		loop_stop(sc->loop);
}

static void test_loop_reader__is_called_while_there_is_something_to_read(void **state)
{
	struct scene *sc = *state;
	struct err err;

	assert_int_equal(write(sc->pipe[1], "ab", 2), 2);
	assert_int_equal(loop_add_reader(sc->loop, sc->pipe[0], read_byte, sc, &sc->reader, &err),
	                 0);
	assert_int_equal(loop_run(sc->loop, &err), 0);
	assert_int_equal(sc->read, 2);
}

static void test_loop_add_reader__refuses_a_closed_fd_with_a_reason(void **state)
{
	struct scene *sc = *state;
	struct err err = { 0 };

	assert_true(loop_add_reader(sc->loop, 9999, read_byte, sc, &sc->reader, &err) < 0);
	assert_non_null(strstr(err.msg, "reader"));
	assert_null(sc->reader);
}

static void test_loop_remove__silences_a_source(void **state)
{
	struct scene *sc = *state;
	uint64_t now = clock_mono_ns();
	struct err err;

	sc->timer = loop_add_timer(sc->loop, now, count_timer, sc);
	loop_add_timer(sc->loop, now + 10 * NS_PER_MS, stop, sc);
	loop_remove(sc->timer);
	loop_remove(NULL);
	assert_int_equal(loop_run(sc->loop, &err), 0);
	assert_int_equal(sc->fired, 0);
}

static void remove_itself(void *self)
{
	struct scene *sc = self;

	sc->fired++;
	loop_remove(sc->timer);
	loop_stop(sc->loop);
}

static void test_loop_remove__may_be_called_by_the_source_itself(void **state)
{
	struct scene *sc = *state;
	struct err err;

	sc->timer = loop_add_timer(sc->loop, 1, remove_itself, sc);
	assert_int_equal(loop_run(sc->loop, &err), 0);
	assert_int_equal(sc->fired, 1);
}

static void catch_and_stop(void *self, const struct signalfd_siginfo *info)
{
	struct scene *sc = self;

	assert_int_equal(info->ssi_pid, getpid());
	sc->caught++;
	loop_stop(sc->loop);
}

static void test_loop_signal__is_called_instead_of_the_process_dying(void **state)
{
	struct scene *sc = *state;
	sigset_t signals;
	struct err err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	assert_int_equal(loop_add_signals(sc->loop, &signals, catch_and_stop, sc, &err), 0);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_int_equal(loop_run(sc->loop, &err), 0);
	assert_int_equal(sc->caught, 1);
}

static void remove_reader(void *self)
{
	struct scene *sc = self;

	loop_remove(sc->reader);
	sc->reader = NULL;
	sc->fired++;
}

static void test_loop_remove__keeps_a_source_of_the_same_round_from_being_called(void **state)
{
	struct scene *sc = *state;
	uint64_t now = clock_mono_ns();
	struct err err;
	int other[2];

	assert_int_equal(pipe(other), 0);
	assert_int_equal(write(other[1], "a", 1), 1);
	assert_int_equal(write(sc->pipe[1], "a", 1), 1);
	assert_int_equal(loop_add_reader(sc->loop, other[0], remove_reader, sc, &sc->timer, &err),
	                 0);
	assert_int_equal(loop_add_reader(sc->loop, sc->pipe[0], read_byte, sc, &sc->reader, &err),
	                 0);
	loop_add_timer(sc->loop, now + NS_PER_MS, stop, sc);
	assert_int_equal(loop_run(sc->loop, &err), 0);
	assert_int_equal(sc->read, 0);
	close(other[0]);
	close(other[1]);
}

static void count_and_stop_writing(void *self)
{
	struct scene *sc = self;

	sc->fired++;
	loop_watch(sc->reader, LOOP_READ);
}

static void test_loop_reader__is_called_for_writing_only_on_request(void **state)
{
	struct scene *sc = *state;
	struct err err;

	assert_int_equal(loop_add_reader(sc->loop, sc->pipe[1], count_and_stop_writing, sc,
	                                 &sc->reader, &err),
	                 0);
	loop_watch(sc->reader, LOOP_READ | LOOP_WRITE);
	loop_add_timer(sc->loop, clock_mono_ns() + 5 * NS_PER_MS, stop, sc);
	assert_int_equal(loop_run(sc->loop, &err), 0);
	assert_int_equal(sc->fired, 1);
}

static void count_read(void *self)
{
	struct scene *sc = self;

	sc->read++;
}

static void test_loop_watch__waits_for_nothing_on_request(void **state)
{
	struct scene *sc = *state;
	struct err err;

	assert_int_equal(write(sc->pipe[1], "a", 1), 1);
	assert_int_equal(loop_add_reader(sc->loop, sc->pipe[0], count_read, sc, &sc->reader, &err),
	                 0);
	loop_watch(sc->reader, 0);
	loop_add_timer(sc->loop, clock_mono_ns() + NS_PER_MS, stop, sc);
	assert_int_equal(loop_run(sc->loop, &err), 0);
	assert_int_equal(sc->read, 0);
}

#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(LOOP_TEST(test_loop_timer__fires_once_each_time_it_is_set),
          LOOP_TEST(test_loop_timer__fires_at_once_for_a_time_that_is_past),
          LOOP_TEST(test_loop_reader__is_called_while_there_is_something_to_read),
          LOOP_TEST(test_loop_add_reader__refuses_a_closed_fd_with_a_reason),
          LOOP_TEST(test_loop_remove__silences_a_source),
          LOOP_TEST(test_loop_remove__may_be_called_by_the_source_itself),
          LOOP_TEST(test_loop_remove__keeps_a_source_of_the_same_round_from_being_called),
          LOOP_TEST(test_loop_reader__is_called_for_writing_only_on_request),
          LOOP_TEST(test_loop_watch__waits_for_nothing_on_request),
          LOOP_TEST(test_loop_signal__is_called_instead_of_the_process_dying))
