/* SPDX-License-Identifier: MIT */
#include "store/jsonl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sqlite/db_lock.h"

#define LOCK_PATIENCE_NS (200 * NS_PER_MS)
#define LOCK_TRIES 8

struct jsonl {
	char *path;
	uint64_t max_bytes;
	struct db_lock file; /* the file itself, locked while a line is written */
};

static int fail(const struct jsonl *j, const char *what, struct err *err)
{
	int code = errno == EDQUOT ? ENOSPC : errno;

	return err_set(err, code, "%s '%s': %s", what, j->path, strerror(errno));
}

static int open_file(struct jsonl *j, struct err *err)
{
	struct stat st;
	int r;

	db_lock_close(&j->file);
	j->file.fd = open(j->path,
	                  O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
	if (j->file.fd < 0 || fstat(j->file.fd, &st) < 0)
		return fail(j, "open", err);
	r = db_lock_check(j->path, &st, err);
	if (r < 0)
		db_lock_close(&j->file);
	return r;
}

/* Locks the file that is at the path now: while we waited, another recorder may have rotated it. */
static int lock_file(struct jsonl *j, struct err *err)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		int r = db_lock_is_in_place(&j->file, j->path) ? 0 : open_file(j, err);

		if (r < 0)
			return r;
		r = db_lock_take(&j->file, 0, LOCK_PATIENCE_NS);
		if (r < 0)
			return err_set(err, -r, "lock '%s': %s", j->path, strerror(-r));
		if (db_lock_is_in_place(&j->file, j->path))
			return 0;
		db_lock_drop(&j->file, 0);
	}
	return err_set(err, EBUSY, "'%s' is rotated faster than it can be written", j->path);
}

static void sync_directory(const struct jsonl *j)
{
	const char *slash = strrchr(j->path, '/');
	char *dir = slash ? xstrndup(j->path, (size_t)(slash - j->path) + 1) : xstrdup(".");
	cleanup(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		fsync(fd);
	free(dir);
}

/* A crash between the two leaves no .1 for a while: nothing is lost, and nothing is there twice. */
static int rotate(struct jsonl *j, struct err *err)
{
	char *first = xasprintf("%s.1", j->path), *second = xasprintf("%s.2", j->path);
	bool ok = (rename(first, second) == 0 || errno == ENOENT) && rename(j->path, first) == 0;
	int r = ok ? 0 : fail(j, "rotate", err);

	free(first);
	free(second);
	if (r < 0)
		return r;
	sync_directory(j);
	return lock_file(j, err);
}

/* Cuts off what stands behind the last newline. */
static int cut_torn_tail(struct jsonl *j, struct err *err)
{
	char bytes[4096];
	off_t size = lseek(j->file.fd, 0, SEEK_END), end = size;

	while (end > 0) {
		size_t n = (size_t)MIN(end, (off_t)sizeof bytes);
		const char *newline;

		if (pread(j->file.fd, bytes, n, end - (off_t)n) != (ssize_t)n)
			return fail(j, "read", err);
		newline = memrchr(bytes, '\n', n);
		end -= (off_t)n;
		if (newline) {
			end += newline + 1 - bytes;
			break;
		}
	}
	if (end < size && ftruncate(j->file.fd, end) < 0)
		return fail(j, "cut", err);
	return 0;
}

int jsonl_open(const char *path, uint64_t max_bytes, struct jsonl **ret, struct err *err)
{
	cleanup(jsonl_closep) struct jsonl *j = xcalloc(1, sizeof *j);
	int r;

	j->file.fd = -1;
	j->path = xstrdup(path);
	j->max_bytes = max_bytes;
	r = lock_file(j, err);
	if (r < 0)
		return r;
	r = cut_torn_tail(j, err);
	db_lock_drop(&j->file, 0);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(j);
	return 0;
}

void jsonl_close(struct jsonl *j)
{
	if (!j)
		return;
	db_lock_close(&j->file);
	free(j->path);
	free(j);
}

static int append(struct jsonl *j, const char *line, size_t len, struct err *err)
{
	static const char newline = '\n';
	const struct iovec parts[] = { { .iov_base = (void *)(uintptr_t)line, .iov_len = len },
		                       { .iov_base = (void *)(uintptr_t)&newline, .iov_len = 1 } };
	off_t before = lseek(j->file.fd, 0, SEEK_END);
	ssize_t n = writev(j->file.fd, parts, 2);

	if (n < 0)
		return fail(j, "write", err);
	if ((size_t)n == len + 1)
		return 0;
	/* The disk took a part of it: it is full, or a limit is met. */
	if (ftruncate(j->file.fd, before) < 0)
		return fail(j, "undo a short write to", err);
	return err_set(err, ENOSPC, "write '%s': no room for a whole line", j->path);
}

int jsonl_put(struct jsonl *j, const char *line, size_t len, struct err *err)
{
	int r = lock_file(j, err);
	off_t size;

	if (r < 0)
		return r;
	size = lseek(j->file.fd, 0, SEEK_END);
	if (size > 0 && (uint64_t)size + len + 1 > j->max_bytes)
		r = rotate(j, err);
	if (r < 0)
		return r;
	r = append(j, line, len, err);
	db_lock_drop(&j->file, 0);
	return r;
}
