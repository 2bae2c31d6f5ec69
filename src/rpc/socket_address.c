/* SPDX-License-Identifier: MIT */
#include "rpc/socket_address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

/* By its path if that fits, else through /proc/self/fd of the directory. */
static int fill_address(struct sockaddr_un *to, int dir_fd, const char *dir_path, const char *name)
{
	int n = snprintf(to->sun_path, sizeof to->sun_path, "%s/%s", dir_path, name);

	to->sun_family = AF_UNIX;
	if (n >= 0 && (size_t)n < sizeof to->sun_path)
		return 0;
	n = snprintf(to->sun_path, sizeof to->sun_path, "/proc/self/fd/%d/%s", dir_fd, name);
	return n >= 0 && (size_t)n < sizeof to->sun_path ? 0 : -ENAMETOOLONG;
}

/* The file gets the mode of the socket. Setting it before bind() needs neither a change of the umask
 * nor a chmod by path. */
static int bind_and_listen(int fd, const struct sockaddr_un *to, int backlog)
{
	if (fchmod(fd, 0600) < 0 || bind(fd, (const struct sockaddr *)to, sizeof *to) < 0 ||
	    listen(fd, backlog) < 0)
		return -errno;
	return 0;
}

int socket_address_listen(int dir_fd, const char *dir_path, const char *name, int backlog,
                          int *ret_fd, struct err *err)
{
	cleanup(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un to;
	int r;

	if (fd < 0)
		return err_set(err, errno, "socket: %s", strerror(errno));
	r = fill_address(&to, dir_fd, dir_path, name);
	if (r == 0)
		r = bind_and_listen(fd, &to, backlog);
	if (r < 0)
		return err_set(err, -r, "listen on '%s/%s': %s", dir_path, name, strerror(-r));
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* connect() blocks while the server's queue is full; only this option limits that. */
static void set_connect_timeout(int fd, uint64_t deadline_ns)
{
	uint64_t now = clock_mono_ns();
	uint64_t left = deadline_ns > now ? deadline_ns - now : NS_PER_US;
	struct timeval tv = { .tv_sec = (time_t)(left / NS_PER_S),
		              .tv_usec = (suseconds_t)(left % NS_PER_S / NS_PER_US) };

	if (!tv.tv_sec && !tv.tv_usec)
		tv.tv_usec = 1; /* 0 would mean forever */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
}

/* The directory is opened only if the path does not fit. */
static int connect_path(int fd, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	cleanup(closep) int dir_fd = -1;
	struct sockaddr_un to;
	char dir[4096];
	int n = slash ? snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path)
	              : snprintf(dir, sizeof dir, ".");

	if (n < 0 || (size_t)n >= sizeof dir)
		return -ENAMETOOLONG;
	if (strlen(path) >= sizeof to.sun_path) {
		dir_fd = open(n ? dir : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir_fd < 0)
			return -errno;
	}
	if (fill_address(&to, dir_fd, dir, name) < 0)
		return -ENAMETOOLONG;
	if (connect(fd, (const struct sockaddr *)&to, sizeof to) < 0)
		return errno == EAGAIN || errno == EINPROGRESS ? -ETIMEDOUT : -errno;
	return 0;
}

int socket_address_connect(const char *path, uint64_t deadline_mono_ns, int *ret_fd,
                           struct err *err)
{
	cleanup(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return err_set(err, errno, "socket: %s", strerror(errno));
	set_connect_timeout(fd, deadline_mono_ns);
	r = connect_path(fd, path);
	if (r < 0)
		return err_set(err, -r, "connect to '%s': %s", path, strerror(-r));
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int socket_address_connect_trusted(const char *path, uint64_t deadline_mono_ns, int *ret_fd,
                                   struct err *err)
{
	cleanup(closep) int fd = -1;
	struct ucred cred;
	int r = socket_address_connect(path, deadline_mono_ns, &fd, err);

	if (r < 0)
		return r;
	r = socket_address_peer(fd, &cred);
	if (r < 0)
		return err_set(err, -r, "get the owner of '%s': %s", path, strerror(-r));
	if (cred.uid != 0 && cred.uid != geteuid())
		return err_set(err, EACCES, "'%s' is served by user %u, who is not trusted", path,
		               cred.uid);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int socket_address_peer(int fd, struct ucred *ret)
{
	socklen_t n = sizeof *ret;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &n) < 0 ? -errno : 0;
}
