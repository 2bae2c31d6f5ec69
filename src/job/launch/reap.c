/* SPDX-License-Identifier: MIT */
#include "job/launch/reap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scan.h"

#define SECTOR_BYTES 512

/* rchar: 1948\n … read_bytes: 4096\nwrite_bytes: 0\ncancelled_write_bytes: 0\n
 * Counted for the process and all it reaped. */
static bool find_line(const char *text, const char *name, uint64_t *ret)
{
	const char *line = strstr(text, name);
	struct scan s;

	if (!line)
		return false;
	s = scan_str(line + strlen(name));
	return scan_u64(&s, ret);
}

/* False when this kernel keeps no account of it. Some let only root read that of who has ended. */
static bool read_io(pid_t pid, struct launch_end *ret)
{
	char path[40], text[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/io", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	ret->has_io = find_line(text, "\nread_bytes: ", &ret->read_bytes) &&
	              find_line(text, "\nwrite_bytes: ", &ret->written_bytes);
	return true;
}

/* The same two sums; storage is read and written in sectors. */
static void take_io(struct launch_end *ret)
{
	ret->has_io = true;
	ret->read_bytes = (uint64_t)ret->usage.ru_inblock * SECTOR_BYTES;
	ret->written_bytes = (uint64_t)ret->usage.ru_oublock * SECTOR_BYTES;
}

bool reap_take(pid_t pid, struct launch_end *ret)
{
	bool is_kept;
	int status;
	pid_t got;

	*ret = (struct launch_end){ .pid = pid };
	is_kept = read_io(pid, ret);
	do
		got = wait4(pid, &status, WNOHANG, &ret->usage);
	while (got < 0 && errno == EINTR);
	if (got != pid)
		return false;
	if (is_kept && !ret->has_io)
		take_io(ret);
	ret->has_exit_code = WIFEXITED(status);
	ret->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	ret->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	ret->core_dumped = WIFSIGNALED(status) && WCOREDUMP(status);
	return true;
}
