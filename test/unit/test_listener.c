/* SPDX-License-Identifier: MIT */
#include "daemon/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "rpc/socket_address.h"

struct place {
	char root[SCRATCH_DIR_MAX], dir[80], path[96];
};

static int setup(void **state)
{
	static struct place p;

	if (!scratch_dir(p.root))
		return -1;
	snprintf(p.dir, sizeof p.dir, "%s/run", p.root);
	snprintf(p.path, sizeof p.path, "%s/daemon.sock", p.dir);
	*state = &p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	unlink(p->path);
	rmdir(p->dir);
	return rmdir(p->root);
}

static void test_listener__is_open_to_all_users_and_removed_at_the_end(void **state)
{
	struct place *p = *state;
	struct listener l;
	struct stat st;
	struct err err;
	int fd, client;

	assert_int_equal(listener_open(&l, p->path, &fd, &err), 0);
	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	assert_int_equal(socket_address_connect(p->path, clock_mono_ns() + NS_PER_S, &client, &err),
	                 0);
	close(client);
	close(fd);
	listener_close(&l);
	assert_int_equal(stat(p->path, &st), -1);
}

static void test_listener__yields_to_a_living_daemon(void **state)
{
	struct place *p = *state;
	struct listener first, second;
	struct err err;
	struct stat st;
	int fd, other;

	assert_int_equal(listener_open(&first, p->path, &fd, &err), 0);
	assert_int_equal(listener_open(&second, p->path, &other, &err), -EALREADY);
	listener_close(&second);
	assert_int_equal(stat(p->path, &st), 0); /* it is still the first one's */
	close(fd);
	listener_close(&first);
}

static void test_listener__replaces_the_socket_of_a_killed_daemon(void **state)
{
	struct place *p = *state;
	struct listener l;
	struct err err;
	struct stat st;
	pid_t child = fork();
	int fd;

	if (child == 0) {
		(void)!listener_open(&l, p->path, &fd, &err);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(listener_open(&l, p->path, &fd, &err), 0);
	close(fd);
	listener_close(&l);
}

static void test_listener__refuses_a_directory_that_others_can_write_to(void **state)
{
	struct place *p = *state;
	struct listener l;
	struct err err;
	int fd;

	assert_int_equal(mkdir(p->dir, 0700), 0);
	assert_int_equal(chmod(p->dir, 0777), 0);
	assert_int_equal(listener_open(&l, p->path, &fd, &err), -EPERM);
	listener_close(&l);
}

/* Refuses with this, names the path, and leaves what is there. */
static void assert_refused(const struct place *p, int code, const char *word)
{
	struct stat before, after;
	struct listener l;
	struct err err;
	int fd;

	assert_int_equal(lstat(p->path, &before), 0);
	assert_int_equal(listener_open(&l, p->path, &fd, &err), -code);
	listener_close(&l);
	assert_non_null(strstr(err.msg, p->path));
	assert_non_null(strstr(err.msg, word));
	assert_non_null(strstr(err.msg, "--socket"));
	assert_int_equal(lstat(p->path, &after), 0);
	assert_true(before.st_ino == after.st_ino);
}

static void test_listener__keeps_files_that_are_not_sockets(void **state)
{
	struct place *p = *state;
	int fd;

	assert_int_equal(mkdir(p->dir, 0700), 0);
	fd = open(p->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_refused(p, EEXIST, "is a file");
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(symlink("nowhere", p->path), 0);
	assert_refused(p, EEXIST, "is a symbolic link");
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(mkdir(p->path, 0700), 0);
	assert_refused(p, EISDIR, "is a directory");
	assert_int_equal(rmdir(p->path), 0);
}

static void test_listener__keeps_a_socket_that_another_program_listens_on(void **state)
{
	struct place *p = *state;
	char owner[32];
	struct err err;
	int dir_fd, fd;

	assert_int_equal(mkdir(p->dir, 0700), 0);
	dir_fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(socket_address_listen(dir_fd, p->dir, "daemon.sock", 1, &fd, &err), 0);
	snprintf(owner, sizeof owner, "process %d", (int)getpid());
	assert_refused(p, EALREADY, owner);
	close(fd);
	close(dir_fd);
}

static void test_listener__shares_a_directory_with_other_sockets(void **state)
{
	struct place *p = *state;
	char path[112];
	struct listener first, second;
	struct err err;
	int fd, other;

	snprintf(path, sizeof path, "%s/other.sock", p->dir);
	assert_int_equal(listener_open(&first, p->path, &fd, &err), 0);
	assert_int_equal(listener_open(&second, path, &other, &err), 0);
	listener_close(&second);
	close(other);
	listener_close(&first);
	close(fd);
}

static void test_listener__does_not_remove_its_successor(void **state)
{
	struct place *p = *state;
	struct listener first, second;
	struct err err;
	struct stat st;
	int fd, other;

	assert_int_equal(listener_open(&first, p->path, &fd, &err), 0);
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(listener_open(&second, p->path, &other, &err), 0);
	listener_close(&first);
	close(fd);
	assert_int_equal(stat(p->path, &st), 0);
	listener_close(&second);
	close(other);
}

#define PLACE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
RUN_TESTS(PLACE_TEST(test_listener__is_open_to_all_users_and_removed_at_the_end),
          PLACE_TEST(test_listener__yields_to_a_living_daemon),
          PLACE_TEST(test_listener__replaces_the_socket_of_a_killed_daemon),
          PLACE_TEST(test_listener__refuses_a_directory_that_others_can_write_to),
          PLACE_TEST(test_listener__keeps_files_that_are_not_sockets),
          PLACE_TEST(test_listener__keeps_a_socket_that_another_program_listens_on),
          PLACE_TEST(test_listener__shares_a_directory_with_other_sockets),
          PLACE_TEST(test_listener__does_not_remove_its_successor))
