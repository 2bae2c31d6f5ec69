/* SPDX-License-Identifier: MIT */
#include "daemon/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/supervisor.h"
#include "rpc/address.h"

#define BACKLOG 1024

/* For everybody to enter, and for nobody else to put things into. */
static int open_dir(const char *dir, int *ret_fd, struct err *err)
{
	cleanup(closep) int fd = -1;
	struct stat st;

	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return err_set(err, errno, "create '%s': %s", dir, strerror(errno));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open '%s': %s", dir, strerror(errno));
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return err_set(err, EPERM, "'%s' is not ours alone to write to", dir);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Who listens there; 0: it cannot be said. */
static pid_t find_listener(const char *path)
{
	cleanup(closep) int fd = -1;
	struct ucred cred = { 0 };
	socklen_t n = sizeof cred;
	struct err err;

	if (address_connect(path, clock_mono_ns() + NS_PER_S, &fd, &err) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0)
		return 0;
	return cred.pid;
}

static int tell_taken(const char *dir, const char *name, struct err *err)
{
	cleanup(freep) char *path = xasprintf("%s/%s", dir, name);
	pid_t pid = find_listener(path);

	if (!pid)
		return err_set(err, EALREADY, "a daemon listens in '%s' already", dir);
	return err_set(err, EALREADY,
	               "a daemon listens on '%s' already: process %d; --socket says where else",
	               path, pid);
}

/* The lock tells a living daemon from what a killed one left behind. */
static int listen_in(struct listener *l, const char *dir, int *ret_fd, struct err *err)
{
	int r;

	if (flock(l->dir_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return tell_taken(dir, l->name, err);
	r = address_listen(l->dir_fd, dir, l->name, BACKLOG, ret_fd, err);
	if (r == -EADDRINUSE && unlinkat(l->dir_fd, l->name, 0) == 0)
		r = address_listen(l->dir_fd, dir, l->name, BACKLOG, ret_fd, err);
	if (r == 0 && fchmodat(l->dir_fd, l->name, 0666, 0) < 0)
		return err_set(err, errno, "open '%s/%s' to all users: %s", dir, l->name,
		               strerror(errno));
	return r;
}

int listener_open(struct listener *l, const char *path, int *ret_fd, struct err *err)
{
	const char *slash = strrchr(path, '/');
	cleanup(freep) char *dir = NULL;
	int r;

	*l = (struct listener){ .dir_fd = -1 };
	r = supervisor_socket(ret_fd, err);
	if (r != 0)
		return MIN(r, 0);
	if (!slash || slash == path || !slash[1])
		return err_set(err, EINVAL, "'%s' is no absolute path of a socket", path);
	dir = xstrndup(path, (size_t)(slash - path));
	l->name = xstrdup(slash + 1);
	r = open_dir(dir, &l->dir_fd, err);
	if (r == 0)
		r = listen_in(l, dir, ret_fd, err);
	if (r < 0)
		closep(&l->dir_fd); /* what is there is not ours to remove */
	return r;
}

void listener_close(struct listener *l)
{
	if (l->dir_fd >= 0)
		unlinkat(l->dir_fd, l->name, 0);
	closep(&l->dir_fd);
	free(l->name);
	l->name = NULL;
}
