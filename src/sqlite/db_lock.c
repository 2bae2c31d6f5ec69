/* SPDX-License-Identifier: MIT */
#include "sqlite/db_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"

int db_lock_check(const char *path, const struct stat *st, struct err *err)
{
	if (!S_ISREG(st->st_mode))
		return err_set(err, EINVAL, "'%s' is not a regular file", path);
	if (st->st_nlink > 1)
		return err_set(
			err, EINVAL,
			"'%s' has more than one hard link and is not used; remove the other links",
			path);
	return 0;
}

int db_lock_open(struct db_lock *lock, const char *path, struct err *err)
{
	struct stat st;
	int r;

	lock->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
	if (lock->fd < 0 || fstat(lock->fd, &st) < 0)
		return err_set(err, errno, "open '%s': %s", path, strerror(errno));
	r = db_lock_check(path, &st, err);
	if (r < 0)
		db_lock_close(lock);
	return r;
}

bool db_lock_is_in_place(const struct db_lock *lock, const char *path)
{
	struct stat here, there;

	return lock->fd >= 0 && lstat(path, &there) == 0 && fstat(lock->fd, &here) == 0 &&
	       here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

int db_lock_open_to_ask(struct db_lock *lock, const char *path, struct err *err)
{
	lock->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (lock->fd < 0)
		return err_set(err, errno, "open '%s': %s", path, strerror(errno));
	return 0;
}

void db_lock_close(struct db_lock *lock)
{
	if (lock->fd >= 0)
		close(lock->fd);
	lock->fd = -1;
}

static int set_lock(const struct db_lock *lock, short type, int64_t byte)
{
	struct flock range = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	return fcntl(lock->fd, F_OFD_SETLK, &range) < 0 ? -errno : 0;
}

static bool is_held(int r)
{
	return r == -EAGAIN || r == -EACCES;
}

/* One of the waiters is the next and polls often; if hundreds did, they would take the CPU time that
 * the holder needs. The next one may be stopped, so the others poll too, and more often the longer
 * they have waited: none starves. */
static uint64_t pause_ns(uint64_t waited_ns, bool is_next)
{
	if (waited_ns < 20 * NS_PER_MS)
		return MAX(waited_ns / 2, 100 * NS_PER_US);
	if (is_next)
		return NS_PER_MS / 2;
	return waited_ns < NS_PER_S ? 20 * NS_PER_MS : 10 * NS_PER_MS;
}

/* Polling, because F_OFD_SETLKW has no timeout: a process that is stopped while it holds the lock would
 * stop us too. */
static int wait_for(struct db_lock *lock, int64_t byte, uint64_t patience_ns)
{
	uint64_t began_ns = clock_mono_ns(), waited_ns = 0;
	bool is_next = false;
	int r = -EAGAIN;

	while (is_held(r) && waited_ns < patience_ns) {
		struct timespec pause = { 0 };

		is_next = is_next || set_lock(lock, F_WRLCK, DB_LOCK_NEXT) == 0;
		pause.tv_nsec = (long)pause_ns(waited_ns, is_next);
		nanosleep(&pause, NULL);
		r = set_lock(lock, F_WRLCK, byte);
		waited_ns = clock_mono_ns() - began_ns;
	}
	if (is_next)
		set_lock(lock, F_UNLCK, DB_LOCK_NEXT);
	return is_held(r) ? -EBUSY : r;
}

int db_lock_take(struct db_lock *lock, int64_t byte, uint64_t patience_ns)
{
	int r = set_lock(lock, F_WRLCK, byte);

	return is_held(r) ? wait_for(lock, byte, patience_ns) : r;
}

void db_lock_drop(struct db_lock *lock, int64_t byte)
{
	set_lock(lock, F_UNLCK, byte);
}

bool db_lock_is_taken(const struct db_lock *lock, int64_t byte)
{
	struct flock range = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
	};

	return fcntl(lock->fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

static int fail_with_owner(struct db_lock *lock, const char *path, struct err *err)
{
	char pid[32] = "";
	ssize_t n = pread(lock->fd, pid, sizeof pid - 1, 0);

	db_lock_close(lock);
	pid[n > 0 ? strcspn(pid, "\n") : 0] = '\0';
	return err_set(err, EBUSY, "'%s' is held by the recorder with pid %s", path,
	               pid[0] ? pid : "(not known)");
}

int db_lock_own(struct db_lock *lock, const char *path, pid_t pid, struct err *err)
{
	char text[32];
	int n = snprintf(text, sizeof text, "%d\n", pid);
	int r = db_lock_open(lock, path, err);

	if (r < 0)
		return r;
	if (db_lock_take(lock, DB_LOCK_WRITING, 0) < 0)
		return fail_with_owner(lock, path, err);
	if (ftruncate(lock->fd, 0) < 0 || pwrite(lock->fd, text, (size_t)n, 0) != n) {
		r = err_set(err, errno ? errno : EIO, "write '%s': %s", path, strerror(errno));
		db_lock_close(lock);
		return r;
	}
	return 0;
}
