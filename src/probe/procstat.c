/* SPDX-License-Identifier: MIT */
#include "probe/procstat.h"

#include <stdio.h>

#include "probe/kfile.h"
#include "probe/taskfile.h"

static bool read_stat(int root_fd, pid_t pid, struct taskfile_stat *ret)
{
	char path[40], text[1024];
	ssize_t n;

	snprintf(path, sizeof path, "proc/%d/stat", pid);
	n = kfile_read(root_fd, path, text, sizeof text);
	return n > 0 && taskfile_parse_stat(scan_mem(text, (size_t)n), ret);
}

void procstat_start(int root_fd, struct proc_id *id)
{
	struct taskfile_stat st;

	if (read_stat(root_fd, id->pid, &st))
		id->start_ticks = st.start_ticks;
}

static bool is_same(const struct taskfile_stat *st, struct proc_id id)
{
	return !id.start_ticks || st->start_ticks == id.start_ticks;
}

bool procstat_is(int root_fd, struct proc_id id)
{
	struct taskfile_stat st;

	return read_stat(root_fd, id.pid, &st) && is_same(&st, id);
}

bool procstat_is_alive(int root_fd, struct proc_id id)
{
	struct taskfile_stat st;

	if (!read_stat(root_fd, id.pid, &st) || !is_same(&st, id))
		return false;
	return (st.state != 'Z' && st.state != 'X') || st.threads > 1;
}
