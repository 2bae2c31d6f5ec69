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

#define BACKLOG 1024
#define LOCK_PATIENCE_NS (5 * NS_PER_S)

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
		return err_set(err, EPERM,
		               "'%s' is not ours alone to write to; --socket says where else", dir);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Whoever starts here does so alone; it takes a moment. */
static int lock_dir(int dir_fd, const char *dir, struct err *err)
{
	uint64_t end_ns = clock_mono_ns() + LOCK_PATIENCE_NS;
	const struct timespec step = { .tv_nsec = 10 * NS_PER_MS };

	while (flock(dir_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_set(err, errno, "lock '%s': %s", dir, strerror(errno));
		if (clock_mono_ns() >= end_ns)
			return err_set(
				err, EALREADY,
				"another program holds '%s' locked; --socket says where else", dir);
		nanosleep(&step, NULL);
	}
	return 0;
}

/* ---- who has the name already ---------------------------------------------------------------- */

static int tell_kind(mode_t mode, const char *path, struct err *err)
{
	const char *kind = S_ISREG(mode)   ? "a file"
	                   : S_ISLNK(mode) ? "a symbolic link"
	                                   : "no socket";

	if (S_ISDIR(mode))
		return err_set(err, EISDIR,
		               "'%s' is a directory: --socket wants the name of a socket in it",
		               path);
	return err_set(err, EEXIST,
	               "'%s' is %s, and stays: remove it, or say with --socket where else", path,
	               kind);
}

static int tell_listener(int fd, const char *path, struct err *err)
{
	struct ucred cred;

	if (fd < 0 || socket_address_peer(fd, &cred) < 0 || !cred.pid)
		return err_set(err, EALREADY,
		               "somebody listens on '%s' already; --socket says where else", path);
	return err_set(
		err, EALREADY,
		"somebody listens on '%s' already: process %d; stop it, or say with --socket "
		"where else",
		path, cred.pid);
}

/* Only a socket of ours that nobody listens on is what a killed daemon left. */
static int check_stale(const struct listener *l, const char *path, struct err *err)
{
	cleanup(closep) int fd = -1;
	struct stat st;
	struct err why;

	if (fstatat(l->dir_fd, l->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT
		               ? 0
		               : err_set(err, errno, "look at '%s': %s", path, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return tell_kind(st.st_mode, path, err);
	if (st.st_uid != geteuid())
		return err_set(err, EPERM,
		               "'%s' is a socket of user %u, and stays; --socket says where else",
		               path, st.st_uid);
	if (socket_address_connect(path, clock_mono_ns() + NS_PER_S, &fd, &why) == -ECONNREFUSED)
		return 0;
	return tell_listener(fd, path, err);
}

static int replace_stale(struct listener *l, const char *path, struct err *err)
{
	int r = check_stale(l, path, err);

	if (r == 0 && unlinkat(l->dir_fd, l->name, 0) < 0 && errno != ENOENT)
		r = err_set(err, errno, "remove '%s': %s", path, strerror(errno));
	return r;
}

/* ---------------------------------------------------------------------------------------------- */

/* The lock is for those who start at the same time: once we listen, that we do is seen. */
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
		return err_set(err, errno, "open '%s' to all users: %s", path, strerror(errno));
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
		return err_set(err, EINVAL, "'%s' is no absolute path of a socket", path);
	dir = xstrndup(path, (size_t)(slash - path));
	l->name = xstrdup(slash + 1);
	r = open_dir(dir, &l->dir_fd, err);
	if (r == 0)
		r = listen_in(l, dir, path, ret_fd, err);
	if (r < 0)
		closep(&l->dir_fd); /* what is there is not ours to remove */
	return r;
}

/* As long as our socket is open, no other can have its inode. */
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
