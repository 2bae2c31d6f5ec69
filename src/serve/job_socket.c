/* SPDX-License-Identifier: MIT */
#include "serve/job_socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "rpc/socket_address.h"

#define SOCKET "sock"
#define BACKLOG 128
#define YOUNG_SECONDS 10
#define CHECKED_MAX 1024 /* directories checked at a time */

void job_socket_init(struct job_socket *d)
{
	*d = (struct job_socket){ .parent_fd = -1, .fd = -1 };
}

/* Opened before it is checked, so that it cannot be replaced in between. */
static int open_own_dir(int at_fd, const char *name, const char *shown, int *ret_fd,
                        struct err *err)
{
	cleanup(closep) int fd = -1;
	struct stat st;

	if (mkdirat(at_fd, name, 0700) < 0 && errno != EEXIST)
		return err_set(err, errno, "create '%s': %s", shown, strerror(errno));
	fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open '%s': %s", shown,
		               errno == ELOOP || errno == ENOTDIR
		                       ? "not a directory, or a symbolic link"
		                       : strerror(errno));
	if (st.st_uid != geteuid())
		return err_set(err, EPERM, "'%s' belongs to user %u", shown, st.st_uid);
	if ((st.st_mode & 077) && fchmod(fd, 0700) < 0)
		return err_set(err, errno, "make '%s' private: %s", shown, strerror(errno));
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* The lock, held as long as the directory is open, distinguishes a running job from what a killed
 * one left behind. Where locks do not work (some network file systems) it does not. */
static int lock_dir(int fd, const char *shown, struct err *err)
{
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return err_set(err, EALREADY, "'%s' is in use by a running job", shown);
	return 0;
}

/* An existing socket is the remains of a killed job, because we hold the lock. */
static int listen_here(struct job_socket *d, const char *dir, int *ret_fd, struct err *err)
{
	int r = socket_address_listen(d->fd, dir, SOCKET, BACKLOG, ret_fd, err);

	if (r == -EADDRINUSE && unlinkat(d->fd, SOCKET, 0) == 0)
		r = socket_address_listen(d->fd, dir, SOCKET, BACKLOG, ret_fd, err);
	d->has_socket = r == 0;
	return r;
}

int job_socket_open(struct job_socket *d, const char *dir, int *ret_listen_fd, struct err *err)
{
	const char *slash = strrchr(dir, '/');
	cleanup(freep) char *parent = NULL;
	int r;

	if (!slash || slash == dir || !slash[1])
		return err_set(err, EINVAL, "'%s' is not STATE/jobs/ID", dir);
	parent = xstrndup(dir, (size_t)(slash - dir));
	d->name = xstrdup(slash + 1);
	r = open_own_dir(AT_FDCWD, parent, parent, &d->parent_fd, err);
	if (r == 0)
		r = open_own_dir(d->parent_fd, d->name, dir, &d->fd, err);
	if (r == 0)
		r = lock_dir(d->fd, dir, err);
	return r == 0 ? listen_here(d, dir, ret_listen_fd, err) : r;
}

/* A directory that is not locked has no running job. A new one may be about to be locked. */
static void remove_if_abandoned(int parent_fd, const char *name, time_t now)
{
	cleanup(closep) int fd = openat(parent_fd, name,
	                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
	    st.st_mtime > now - YOUNG_SECONDS || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	unlinkat(fd, SOCKET, 0);
	unlinkat(parent_fd, name, AT_REMOVEDIR); /* unless it has other files */
}

/* Removes the directories of jobs whose recorder was killed. */
static void remove_abandoned(int parent_fd)
{
	int fd = openat(parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	time_t now = time(NULL);

	if (!dir) {
		closep(&fd);
		return;
	}
	for (size_t n = 0; n < CHECKED_MAX && (entry = readdir(dir)); n++)
		if (entry->d_name[0] != '.')
			remove_if_abandoned(parent_fd, entry->d_name, now);
	closedir(dir);
}

void job_socket_close(struct job_socket *d)
{
	if (d->has_socket) {
		unlinkat(d->fd, SOCKET, 0);
		unlinkat(d->parent_fd, d->name, AT_REMOVEDIR); /* unless it has other files */
	}
	closep(&d->fd);
	if (d->parent_fd >= 0)
		remove_abandoned(d->parent_fd);
	closep(&d->parent_fd);
	free(d->name);
	job_socket_init(d);
}
