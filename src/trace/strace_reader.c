/* SPDX-License-Identifier: MIT */
#include "trace/strace_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define PIPE_BYTES (1 << 20) /* a burst of lines need not wait for us */

int strace_reader_open(struct strace_reader **ret, struct err *err)
{
	struct strace_reader *r;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "make a pipe: %s", strerror(errno));
	r = xcalloc(1, sizeof *r);
	r->fd = ends[0];
	r->write_fd = ends[1];
	(void)fcntl(r->fd, F_SETFL, O_NONBLOCK);
	(void)fcntl(r->fd, F_SETPIPE_SZ, PIPE_BYTES); /* smaller where users may have no more */
	*ret = r;
	return 0;
}

/* strace writes no longer lines in this mode. */
static void take_lines(struct strace_reader *r)
{
	const char *end = memrchr(r->text, '\n', r->len);
	struct scan text = scan_mem(r->text, end ? (size_t)(end + 1 - r->text) : 0), line;

	while (scan_line(&text, &line))
		strace_tally_line(&r->tally, line);
	if (!end && r->len == sizeof r->text)
		text.p = r->text + r->len;
	r->len -= (size_t)(text.p - r->text);
	memmove(r->text, text.p, r->len);
}

bool strace_reader_read(struct strace_reader *r)
{
	bool has_read = false;
	ssize_t n;

	while ((n = read(r->fd, r->text + r->len, sizeof r->text - r->len)) > 0) {
		r->len += (size_t)n;
		take_lines(r);
		has_read = true;
	}
	if (has_read)
		strace_tally_peek(&r->tally, scan_mem(r->text, r->len));
	return has_read;
}

void strace_reader_close(struct strace_reader *r)
{
	if (!r)
		return;
	closep(&r->fd);
	closep(&r->write_fd);
	strace_tally_done(&r->tally);
	free(r);
}
