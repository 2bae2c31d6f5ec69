/* SPDX-License-Identifier: MIT */
#include "base/loop.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"

struct fixture {
	struct loop *loop;
	struct loop_source *timer, *reader;
	unsigned fired, read, caught;
	int pipe[2];
	uint64_t last_ns;
};

static int setup(void **state)
{
	struct fixture *fx = calloc(1, sizeof *fx);
	struct err err;

	if (!fx || pipe(fx->pipe) < 0)
		return -1;
	*state = fx;
	return loop_new(&fx->loop, &err);
}

static int teardown(void **state)
{
	struct fixture *fx = *state;

	loop_free(fx->loop);
	close(fx->pipe[0]);
	close(fx->pipe[1]);
	free(fx);
	return 0;
}

static void stop(void *self)
{
	struct fixture *fx = self;

	loop_stop(fx->loop);
}

static void fire_thrice(void *self)
{
	struct fixture *fx = self;

	fx->last_ns = clock_mono_ns();
	if (++fx->fired == 3)
		loop_stop(fx->loop);
	else
		loop_timer_set(fx->timer, fx->last_ns + 5 * NS_PER_MS);
}

static void test_loop_timer__fires_once_each_time_it_is_set(void **state)
{
	struct fixture *fx = *state;
	uint64_t began = clock_mono_ns();
	struct err err;

	fx->timer = loop_add_timer(fx->loop, began + 5 * NS_PER_MS, fire_thrice, fx);
	assert_int_equal(loop_run(fx->loop, &err), 0);
	assert_int_equal(fx->fired, 3);
	assert_true(fx->last_ns - began >= 14 * NS_PER_MS);
}

static void test_loop_timer__fires_at_once_for_a_time_that_is_past(void **state)
{
	struct fixture *fx = *state;
	struct err err;

	loop_add_timer(fx->loop, 1, stop, fx);
	assert_int_equal(loop_run(fx->loop, &err), 0);
}

static void count_timer(void *self)
{
	struct fixture *fx = self;

	fx->fired++;
}

static void read_byte(void *self)
{
	struct fixture *fx = self;
	char c;

	assert_int_equal(read(fx->pipe[0], &c, 1), 1);
	if (++fx->read == 2)
		loop_stop(fx->loop);
}

static void test_loop_reader__is_called_while_there_is_something_to_read(void **state)
{
	struct fixture *fx = *state;
	struct err err;

	assert_int_equal(write(fx->pipe[1], "ab", 2), 2);
	assert_int_equal(loop_add_reader(fx->loop, fx->pipe[0], read_byte, fx, &fx->reader, &err),
	                 0);
	assert_int_equal(loop_run(fx->loop, &err), 0);
	assert_int_equal(fx->read, 2);
}

static void test_loop_add_reader__refuses_a_closed_fd_with_a_reason(void **state)
{
	struct fixture *fx = *state;
	struct err err = { 0 };

	assert_true(loop_add_reader(fx->loop, 9999, read_byte, fx, &fx->reader, &err) < 0);
	assert_non_null(strstr(err.msg, "reader"));
	assert_null(fx->reader);
}

static void test_loop_remove__silences_a_source(void **state)
{
	struct fixture *fx = *state;
	uint64_t now = clock_mono_ns();
	struct err err;

	fx->timer = loop_add_timer(fx->loop, now, count_timer, fx);
	loop_add_timer(fx->loop, now + 10 * NS_PER_MS, stop, fx);
	loop_remove(fx->timer);
	loop_remove(NULL);
	assert_int_equal(loop_run(fx->loop, &err), 0);
	assert_int_equal(fx->fired, 0);
}

static void remove_itself(void *self)
{
	struct fixture *fx = self;

	fx->fired++;
	loop_remove(fx->timer);
	loop_stop(fx->loop);
}

static void test_loop_remove__may_be_called_by_the_source_itself(void **state)
{
	struct fixture *fx = *state;
	struct err err;

	fx->timer = loop_add_timer(fx->loop, 1, remove_itself, fx);
	assert_int_equal(loop_run(fx->loop, &err), 0);
	assert_int_equal(fx->fired, 1);
}

static void catch_and_stop(void *self, const struct signalfd_siginfo *info)
{
	struct fixture *fx = self;

	assert_int_equal(info->ssi_pid, getpid());
	fx->caught++;
	loop_stop(fx->loop);
}

static void test_loop_signal__is_called_instead_of_the_process_dying(void **state)
{
	struct fixture *fx = *state;
	sigset_t signals;
	struct err err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	assert_int_equal(loop_add_signals(fx->loop, &signals, catch_and_stop, fx, &err), 0);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_int_equal(loop_run(fx->loop, &err), 0);
	assert_int_equal(fx->caught, 1);
}

static void remove_reader(void *self)
{
	struct fixture *fx = self;

	loop_remove(fx->reader);
	fx->reader = NULL;
	fx->fired++;
}

static void test_loop_remove__keeps_a_source_of_the_same_round_from_being_called(void **state)
{
	struct fixture *fx = *state;
	uint64_t now = clock_mono_ns();
	struct err err;
	int other[2];

	assert_int_equal(pipe(other), 0);
	assert_int_equal(write(other[1], "a", 1), 1);
	assert_int_equal(write(fx->pipe[1], "a", 1), 1);
	assert_int_equal(loop_add_reader(fx->loop, other[0], remove_reader, fx, &fx->timer, &err),
	                 0);
	assert_int_equal(loop_add_reader(fx->loop, fx->pipe[0], read_byte, fx, &fx->reader, &err),
	                 0);
	loop_add_timer(fx->loop, now + NS_PER_MS, stop, fx);
	assert_int_equal(loop_run(fx->loop, &err), 0);
	assert_int_equal(fx->read, 0);
	close(other[0]);
	close(other[1]);
}

static void count_and_stop_writing(void *self)
{
	struct fixture *fx = self;

	fx->fired++;
	loop_watch(fx->reader, LOOP_READ);
}

static void test_loop_reader__is_called_for_writing_only_on_request(void **state)
{
	struct fixture *fx = *state;
	struct err err;

	assert_int_equal(loop_add_reader(fx->loop, fx->pipe[1], count_and_stop_writing, fx,
	                                 &fx->reader, &err),
	                 0);
	loop_watch(fx->reader, LOOP_READ | LOOP_WRITE);
	loop_add_timer(fx->loop, clock_mono_ns() + 5 * NS_PER_MS, stop, fx);
	assert_int_equal(loop_run(fx->loop, &err), 0);
	assert_int_equal(fx->fired, 1);
}

static void count_read(void *self)
{
	struct fixture *fx = self;

	fx->read++;
}

static void test_loop_watch__waits_for_nothing_on_request(void **state)
{
	struct fixture *fx = *state;
	struct err err;

	assert_int_equal(write(fx->pipe[1], "a", 1), 1);
	assert_int_equal(loop_add_reader(fx->loop, fx->pipe[0], count_read, fx, &fx->reader, &err),
	                 0);
	loop_watch(fx->reader, 0);
	loop_add_timer(fx->loop, clock_mono_ns() + NS_PER_MS, stop, fx);
	assert_int_equal(loop_run(fx->loop, &err), 0);
	assert_int_equal(fx->read, 0);
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
