/* SPDX-License-Identifier: MIT */
#include "daemon/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scan.h"

#define INHERITED_FD 3

/* A path, or an abstract name, which is written with an @. */
static socklen_t address(const char *name, struct sockaddr_un *ret)
{
	size_t n = strlen(name);

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if ((name[0] != '/' && name[0] != '@') || n < 2 || n >= sizeof ret->sun_path)
		return 0;
	memcpy(ret->sun_path, name, n);
	if (name[0] == '@')
		ret->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

void supervisor_notify(const char *lines)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to;
	socklen_t len = name ? address(name, &to) : 0;
	cleanup(closep) int fd = len ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

	if (fd >= 0)
		(void)!sendto(fd, lines, strlen(lines), MSG_NOSIGNAL | MSG_DONTWAIT,
		              (struct sockaddr *)&to, len);
}

static bool number_in(const char *variable, uint64_t *ret)
{
	const char *text = getenv(variable);
	struct scan s;

	if (!text)
		return false;
	s = scan_str(text);
	return scan_u64(&s, ret) && scan_at_end(&s);
}

uint64_t supervisor_watchdog_ns(void)
{
	uint64_t us, pid;

	if (number_in("WATCHDOG_PID", &pid) && pid != (uint64_t)getpid())
		return 0;
	return number_in("WATCHDOG_USEC", &us) ? us * NS_PER_US : 0;
}

static int option_of(int fd, int option)
{
	int value = -1;
	socklen_t n = sizeof value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &n) < 0 ? -1 : value;
}

static bool is_listening(int fd)
{
	return option_of(fd, SO_DOMAIN) == AF_UNIX && option_of(fd, SO_TYPE) == SOCK_STREAM &&
	       option_of(fd, SO_ACCEPTCONN) == 1;
}

int supervisor_socket(int *ret_fd, struct err *err)
{
	uint64_t pid, count;

	if (!number_in("LISTEN_PID", &pid) || pid != (uint64_t)getpid())
		return 0;
	if (!number_in("LISTEN_FDS", &count) || count != 1 || !is_listening(INHERITED_FD))
		return err_set(
			err, EINVAL,
			"the service manager must pass exactly one listening unix socket (LISTEN_FDS)");
	if (fcntl(INHERITED_FD, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(INHERITED_FD, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return err_set(err, errno, "prepare the inherited socket: %s", strerror(errno));
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	*ret_fd = INHERITED_FD;
	return 1;
}

bool supervisor_started_us(void)
{
	uint64_t pid;

	return number_in("SYSTEMD_EXEC_PID", &pid) && pid == (uint64_t)getpid();
}
