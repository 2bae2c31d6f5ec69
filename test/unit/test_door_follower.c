/* SPDX-License-Identifier: MIT */
/* Doors of recorders that were stopped: the kernel accepts connections for them, and nothing answers. */
#include "serve/door_follower.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "check.h"

#define DOORS 3

struct fixture {
	char dir[SCRATCH_DIR_MAX];
	int doors[DOORS];
	struct door_follower *follower;
};

static int door_listen(const struct fixture *fx, int number)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	cleanup(freep) char *dir = xasprintf("%s/job-%d", fx->dir, number);

	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s/sock", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(fd, 16), 0);
	return fd;
}

static void door_close(const struct fixture *fx, int number)
{
	cleanup(freep) char *dir = xasprintf("%s/job-%d", fx->dir, number);
	cleanup(freep) char *path = xasprintf("%s/sock", dir);

	close(fx->doors[number]);
	unlink(path);
	rmdir(dir);
}

static int setup(void **state)
{
	struct fixture *fx = xcalloc(1, sizeof *fx);

	assert_true(scratch_dir(fx->dir));
	for (int i = 0; i < DOORS; i++)
		fx->doors[i] = door_listen(fx, i);
	fx->follower = door_follower_new(NULL, fx->dir); /* nothing is registered */
	*state = fx;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fx = *state;

	door_follower_free(fx->follower);
	for (int i = 0; i < DOORS; i++)
		door_close(fx, i);
	assert_int_equal(rmdir(fx->dir), 0);
	free(fx);
	return 0;
}

/* How many connections were made since the last call. */
static unsigned count_callers(const struct fixture *fx)
{
	unsigned n = 0;
	int fd;

	for (int i = 0; i < DOORS; i++)
		while ((fd = accept(fx->doors[i], NULL, NULL)) >= 0) {
			close(fd);
			n++;
		}
	return n;
}

static void test_door_follower_ask__waits_for_one_stopped_recorder_at_a_time(void **state)
{
	struct fixture *fx = *state;

	for (int i = 0; i < DOORS; i++) {
		door_follower_ask(fx->follower);
		assert_int_equal(count_callers(fx), 1);
	}
}

static void test_door_follower_ask__leaves_stopped_recorders_alone_for_a_while(void **state)
{
	struct fixture *fx = *state;

	for (int i = 0; i < DOORS; i++)
		door_follower_ask(fx->follower);
	assert_int_equal(count_callers(fx), DOORS);
	door_follower_ask(fx->follower);
	assert_int_equal(count_callers(fx), 0);
}

#define DOOR_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(DOOR_TEST(test_door_follower_ask__waits_for_one_stopped_recorder_at_a_time),
          DOOR_TEST(test_door_follower_ask__leaves_stopped_recorders_alone_for_a_while))
