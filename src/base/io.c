/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scan.h"

#define TEMPORARY_BEGIN ".proctor-"
#define TEMPORARY_END ".new"

static ssize_t read_fd(int fd, char *to, size_t cap)
{
	size_t len = 0;

	while (len < cap) {
		ssize_t n = read(fd, to + len, cap - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

ssize_t io_read_at(int dir_fd, const char *path, char *to, size_t cap)
{
	cleanup(closep) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return read_fd(fd, to, cap);
}

int io_load_fd(int fd, struct buf *to)
{
	char bytes[4096];
	ssize_t n;

	do {
		n = read_fd(fd, bytes, sizeof bytes);
		if (n < 0)
			return (int)n;
		if (!buf_put(to, bytes, (size_t)n))
			return -EFBIG;
	} while (n == sizeof bytes);
	return 0;
}

int io_write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Another writer of the pipe may fill the room that poll() reported, so pipes are written with
 * RWF_NOWAIT. Where that is not supported, a write of at most PIPE_BUF bytes has to do: it fits
 * whenever poll() reports room. */
static ssize_t write_some(int fd, const char *bytes, size_t n, bool is_pipe)
{
	struct iovec piece = { .iov_base = (void *)(uintptr_t)bytes,
		               .iov_len = MIN(n, (size_t)PIPE_BUF) };
	ssize_t done = is_pipe ? pwritev2(fd, &piece, 1, -1, RWF_NOWAIT) : -1;

	if (!is_pipe || (done < 0 && errno != EAGAIN && errno != EPIPE))
		done = write(fd, piece.iov_base, piece.iov_len);
	return done;
}

int io_write_timeout(int fd, const void *bytes, size_t n, uint64_t timeout_ns)
{
	uint64_t end_ns = clock_mono_ns() + timeout_ns, now_ns;
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	const char *p = bytes;
	struct stat st;
	bool is_pipe = fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);

	while (n && (now_ns = clock_mono_ns()) < end_ns) {
		ssize_t done = -1;

		if (poll(&room, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1) == 0)
			break;
		done = write_some(fd, p, n, is_pipe);
		if (done < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		p += MAX(done, 0);
		n -= (size_t)MAX(done, 0);
	}
	return n ? -EAGAIN : 0;
}

/* The new file belongs to us: handing it to another user is never wanted, and group rights are of use only to
 * the same group. */
static int copy_rights(int fd, const struct stat *from)
{
	mode_t mode = from->st_mode & 0777;

	if (fchown(fd, (uid_t)-1, from->st_gid) < 0)
		mode &= ~(mode_t)S_IRWXG;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

/* As our file that it will replace: the new one is no more readable than that. */
static int write_new(int dir_fd, const char *name, const char *old, const void *bytes, size_t n,
                     bool is_durable)
{
	struct stat st;
	bool is_ours = fstatat(dir_fd, old, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	               st.st_uid == geteuid();
	cleanup(closep) int fd = openat(dir_fd, name,
	                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	                                is_ours ? 0600 : 0666);
	int r = fd < 0 ? -errno : is_ours ? copy_rights(fd, &st) : 0;

	if (r == 0)
		r = io_write_all(fd, bytes, n);
	return r == 0 && is_durable && fdatasync(fd) < 0 ? -errno : r;
}

/* Another writer's name differs, in another container too. */
static void name_temporary(char *to, size_t cap)
{
	uint64_t random = 0;

	(void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
	snprintf(to, cap, TEMPORARY_BEGIN "%d-%016" PRIx64 TEMPORARY_END, (int)getpid(), random);
}

static bool is_abandoned(const char *name)
{
	struct scan s = scan_str(name);
	uint64_t pid, random;

	return scan_lit(&s, TEMPORARY_BEGIN) && scan_u64(&s, &pid) && scan_lit(&s, "-") &&
	       scan_hex(&s, &random) && scan_lit(&s, TEMPORARY_END) && scan_at_end(&s) &&
	       pid <= INT_MAX && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

void io_remove_abandoned(int dir_fd)
{
	cleanup(closep) int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir)
		return;
	TAKE_FD(fd); /* closedir() closes it */
	while ((entry = readdir(dir)))
		if (is_abandoned(entry->d_name))
			unlinkat(dir_fd, entry->d_name, 0);
	closedir(dir);
}

int io_replace(int dir_fd, const char *name, const void *bytes, size_t n, bool is_durable,
               struct err *err)
{
	char temporary[48];
	int r;

	name_temporary(temporary, sizeof temporary);
	r = write_new(dir_fd, temporary, name, bytes, n, is_durable);
	if (r == 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
		r = -errno;
	if (r == 0)
		return 0;
	if (r != -EEXIST)
		unlinkat(dir_fd, temporary, 0);
	return err_set(err, r == -EDQUOT ? ENOSPC : -r, "write '%s': %s", name, strerror(-r));
}

int io_mkdir_all(const char *path, mode_t mode, struct err *err)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	struct stat st;

	if (len >= sizeof part)
		return err_set(err, ENAMETOOLONG, "create '%s': path too long", path);
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			return err_set(err, errno, "create directory '%s': %s", part,
			               strerror(errno));
	}
	/* The path may exist already, as a file. */
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ENOTDIR, "create directory '%s': %s", path, strerror(ENOTDIR));
	return 0;
}
