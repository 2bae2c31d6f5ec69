/* SPDX-License-Identifier: MIT */
#include "daemon/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"

static int listen_as(const char *name, size_t len, int type)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	memcpy(at.sun_path, name, len);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, (socklen_t)(sizeof at.sun_family + len)),
	                 0);
	return fd;
}

static void hears(int fd, const char *text)
{
	char heard[64] = { 0 };

	assert_int_equal(recv(fd, heard, sizeof heard - 1, MSG_DONTWAIT), strlen(text));
	assert_string_equal(heard, text);
}

static void test_supervisor_notify__reaches_a_path_and_an_abstract_name(void **state)
{
	char path[SCRATCH_DIR_MAX], name[80];
	int fd;

	(void)state;
	assert_true(scratch_dir(path));
	snprintf(name, sizeof name, "%s/s", path);
	fd = listen_as(name, strlen(name), SOCK_DGRAM);
	setenv("NOTIFY_SOCKET", name, 1);
	supervisor_notify("READY=1");
	hears(fd, "READY=1");
	close(fd);
	unlink(name);
	rmdir(path);
	supervisor_notify("READY=1"); /* nobody is there any more */

	snprintf(name, sizeof name, "%cproctor-test-%d", '\0', getpid());
	fd = listen_as(name, 1 + strlen(name + 1), SOCK_DGRAM);
	name[0] = '@';
	setenv("NOTIFY_SOCKET", name, 1);
	supervisor_notify("STATUS=fine");
	hears(fd, "STATUS=fine");
	close(fd);
	unsetenv("NOTIFY_SOCKET");
	supervisor_notify("READY=1");
}

static void test_supervisor_watchdog__is_for_the_process_it_names(void **state)
{
	char pid[16];

	(void)state;
	unsetenv("WATCHDOG_PID");
	assert_int_equal(supervisor_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "20000000", 1);
	assert_int_equal(supervisor_watchdog_ns(), 20 * NS_PER_S);
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(supervisor_watchdog_ns(), 0);
	snprintf(pid, sizeof pid, "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(supervisor_watchdog_ns(), 20 * NS_PER_S);
	setenv("WATCHDOG_USEC", "soon", 1);
	assert_int_equal(supervisor_watchdog_ns(), 0);
}

/* In a child, whose fd 3 is ours to choose. What supervisor_socket() returned. */
static int with_fd_3(int fd, const char *count)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		struct err err = { 0 };
		char pid[16];
		int got = -1, r;

		snprintf(pid, sizeof pid, "%d", getpid());
		setenv("LISTEN_PID", pid, 1);
		setenv("LISTEN_FDS", count, 1);
		dup2(fd, 3);
		r = supervisor_socket(&got, &err);
		if (r == 1 &&
		    (got != 3 || getenv("LISTEN_FDS") || !(fcntl(3, F_GETFD) & FD_CLOEXEC)))
			_exit(99);
		_exit(r < 0 ? -r : 100 + r);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

static void test_supervisor_socket__accepts_only_a_listening_socket(void **state)
{
	char name[64];
	size_t len = (size_t)snprintf(name, sizeof name, "%cproctor-listen-%d", '\0', getpid());
	int listening = listen_as(name, len, SOCK_STREAM), got;
	int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct err err;

	(void)state;
	assert_int_equal(with_fd_3(listening, "1"), EINVAL);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(with_fd_3(listening, "1"), 101);
	assert_int_equal(with_fd_3(listening, "2"), EINVAL);
	assert_int_equal(with_fd_3(other, "1"), EINVAL);
	setenv("LISTEN_PID", "1", 1); /* for somebody else */
	assert_int_equal(supervisor_socket(&got, &err), 0);
	unsetenv("LISTEN_PID");
	assert_int_equal(supervisor_socket(&got, &err), 0);
	close(listening);
	close(other);
}

RUN_TESTS(TEST(test_supervisor_notify__reaches_a_path_and_an_abstract_name),
          TEST(test_supervisor_watchdog__is_for_the_process_it_names),
          TEST(test_supervisor_socket__accepts_only_a_listening_socket))
