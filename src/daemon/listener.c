/* SPDX-License-Identifier: MIT */
#include "daemon/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/supervisor.h"
#include "rpc/socket_address.h"

#define BACKLOG 128 /* a client that connects in a storm of others waits for so many at most */
#define LOCK_TIMEOUT_NS (5 * NS_PER_S)

/* Every user may enter the directory, but only we may write to it. */
static int open_dir(const char *dir, int *ret_fd, struct err *err)
{
	cleanup(closep) int fd = -1;
	struct stat st;

	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return err_set(err, errno, "create '%s': %s", dir, strerror(errno));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open '%s': %s", dir, strerror(errno));
	if (st.st_uid != geteuid())
		return err_set(err, EPERM,
		               "'%s' belongs to user %u; choose another path with --socket", dir,
		               st.st_uid);
	if (st.st_mode & 022)
		return err_set(err, EPERM,
		               "'%s' is writable by other users; choose another path with --socket",
		               dir);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Daemons that start at the same time take turns; each holds the lock only briefly. */
static int lock_dir(int dir_fd, const char *dir, struct err *err)
{
	uint64_t end_ns = clock_mono_ns() + LOCK_TIMEOUT_NS;
	const struct timespec step = { .tv_nsec = 10 * NS_PER_MS };

	while (flock(dir_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_set(err, errno, "lock '%s': %s", dir, strerror(errno));
		if (clock_mono_ns() >= end_ns)
			return err_set(err, EALREADY,
			               "'%s' is locked by another program; choose another path "
			               "with --socket",
			               dir);
		nanosleep(&step, NULL);
	}
	return 0;
}

/* ---- a path that exists already -------------------------------------------------------------- */

static int report_other_file(mode_t mode, const char *path, struct err *err)
{
	const char *kind = S_ISREG(mode)   ? "a file"
	                   : S_ISLNK(mode) ? "a symbolic link"
	                                   : "not a socket";

	if (S_ISDIR(mode))
		return err_set(err, EISDIR,
		               "'%s' is a directory: --socket needs the path of a socket in it",
		               path);
	return err_set(err, EEXIST, "'%s' is %s: remove it, or choose another path with --socket",
	               path, kind);
}

static int report_listener(int fd, const char *path, struct err *err)
{
	struct ucred cred;

	if (fd < 0 || socket_address_peer(fd, &cred) < 0 || !cred.pid)
		return err_set(err, EALREADY,
		               "another process listens on '%s'; choose another path with --socket",
		               path);
	return err_set(err, EALREADY,
	               "process %d listens on '%s' already; stop it, or choose another path with "
	               "--socket",
	               cred.pid, path);
}

/* A killed daemon leaves a socket of our own user that refuses connections; only that is stale. */
static int check_stale(const struct listener *l, const char *path, struct err *err)
{
	cleanup(closep) int fd = -1;
	struct stat st;
	struct err why;

	if (fstatat(l->dir_fd, l->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT
		               ? 0
		               : err_set(err, errno, "stat '%s': %s", path, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return report_other_file(st.st_mode, path, err);
	if (st.st_uid != geteuid())
		return err_set(err, EPERM,
		               "'%s' is a socket of user %u; choose another path with --socket",
		               path, st.st_uid);
	if (socket_address_connect(path, clock_mono_ns() + NS_PER_S, &fd, &why) == -ECONNREFUSED)
		return 0;
	return report_listener(fd, path, err);
}

static int replace_stale(struct listener *l, const char *path, struct err *err)
{
	int r = check_stale(l, path, err);

	if (r == 0 && unlinkat(l->dir_fd, l->name, 0) < 0 && errno != ENOENT)
		r = err_set(err, errno, "remove '%s': %s", path, strerror(errno));
	return r;
}

/* ---------------------------------------------------------------------------------------------- */

/* The lock is only for daemons that start at the same time. Later ones notice that we listen. */
static int listen_in(struct listener *l, const char *dir, const char *path, int *ret_fd,
                     struct err *err)
{
	cleanup(closep) int fd = -1;
	int r = lock_dir(l->dir_fd, dir, err);

	if (r < 0)
		return r;
	r = socket_address_listen(l->dir_fd, dir, l->name, BACKLOG, &fd, err);
	if (r == -EADDRINUSE) {
		r = replace_stale(l, path, err);
		if (r == 0)
			r = socket_address_listen(l->dir_fd, dir, l->name, BACKLOG, &fd, err);
	}
	flock(l->dir_fd, LOCK_UN);
	if (r < 0)
		return r;
	if (fchmodat(l->dir_fd, l->name, 0666, 0) < 0 ||
	    fstatat(l->dir_fd, l->name, &l->made, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(err, errno, "make '%s' accessible: %s", path, strerror(errno));
	*ret_fd = TAKE_FD(fd);
	return 0;
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
		return err_set(err, EINVAL, "'%s' is not the absolute path of a socket", path);
	dir = xstrndup(path, (size_t)(slash - path));
	l->name = xstrdup(slash + 1);
	r = open_dir(dir, &l->dir_fd, err);
	if (r == 0)
		r = listen_in(l, dir, path, ret_fd, err);
	if (r < 0)
		closep(&l->dir_fd); /* so that listener_close() removes nothing */
	return r;
}

/* While our socket is open, its inode number cannot be reused. */
static bool is_still_ours(const struct listener *l)
{
	struct stat st;

	return fstatat(l->dir_fd, l->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_ino == l->made.st_ino && st.st_dev == l->made.st_dev;
}

void listener_close(struct listener *l)
{
	if (l->dir_fd >= 0 && is_still_ours(l))
		unlinkat(l->dir_fd, l->name, 0);
	closep(&l->dir_fd);
	free(l->name);
	l->name = NULL;
}
