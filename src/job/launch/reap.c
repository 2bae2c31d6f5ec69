/* SPDX-License-Identifier: MIT */
#include "job/launch/reap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/defs.h"
#include "kernel/process_peek.h"

#define SECTOR_BYTES 512

/* Counted for the process and all it reaped. False when this kernel keeps no account of it. Some let
 * only root read that of a process that has ended. */
static bool read_io(pid_t pid, struct launch_end *ret)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct proc_readings io = { 0 };
	int r = process_peek_ended_io(root_fd, pid, &io);

	ret->has_io = r == 0;
	ret->read_bytes = readings_or(&io, PROC_READ_BYTES, 0);
	ret->written_bytes = readings_or(&io, PROC_WRITE_BYTES, 0);
	return r != -ENOENT;
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
