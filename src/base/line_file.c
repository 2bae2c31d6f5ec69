/* SPDX-License-Identifier: MIT */
#include "base/line_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int line_file_create(int dir_fd, const char *name, struct line_file *ret, struct err *err)
{
	int fd = openat(dir_fd, name,
	                O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

	if (fd < 0)
		return err_set(err, errno, "create '%s': %s", name, strerror(errno));
	*ret = (struct line_file){ .fd = fd, .name = name };
	return 0;
}

/* The bytes written, or -1. */
static ssize_t write_once(int fd, const char *bytes, size_t n)
{
	ssize_t done;

	do
		done = write(fd, bytes, n);
	while (done < 0 && errno == EINTR);
	return done;
}

/* Removes a partial line after the disk or a limit cut the write short. After an appending write
 * the offset is the end of what was written. */
static void remove_partial_line(struct line_file *f, ssize_t written)
{
	off_t end = lseek(f->fd, 0, SEEK_CUR);

	f->is_torn = end < written || ftruncate(f->fd, end - written) < 0;
}

int line_file_put(struct line_file *f, const char *line, size_t len, struct err *err)
{
	ssize_t n;

	if (f->is_torn && write_once(f->fd, "\n", 1) == 1)
		f->is_torn = false;
	n = f->is_torn ? 0 : write_once(f->fd, line, len);
	if (n == (ssize_t)len)
		return 0;
	f->lost++;
	if (n < 0)
		return err_set(err, errno == EDQUOT ? ENOSPC : errno, "write '%s': %s", f->name,
		               strerror(errno));
	if (n > 0)
		remove_partial_line(f, n);
	return err_set(err, ENOSPC, "write '%s': no room for a whole line", f->name);
}

void line_file_close(struct line_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}
