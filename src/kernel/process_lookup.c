/* SPDX-License-Identifier: MIT */
#include "kernel/process_lookup.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/kernel_file.h"
#include "kernel/process_files.h"

static bool read_stat(int root_fd, pid_t pid, struct process_files_stat *ret)
{
	char path[40], text[1024];
	ssize_t n;

	snprintf(path, sizeof path, "proc/%d/stat", pid);
	n = kernel_file_read(root_fd, path, text, sizeof text);
	return n > 0 && process_files_parse_stat(scan_mem(text, (size_t)n), ret);
}

void process_lookup_start(int root_fd, struct proc_id *id)
{
	struct process_files_stat st;

	if (read_stat(root_fd, id->pid, &st))
		id->start_ticks = st.start_ticks;
}

static bool is_same(const struct process_files_stat *st, struct proc_id id)
{
	return !id.start_ticks || st->start_ticks == id.start_ticks;
}

bool process_lookup_is(int root_fd, struct proc_id id)
{
	struct process_files_stat st;

	return read_stat(root_fd, id.pid, &st) && is_same(&st, id);
}

bool process_lookup_is_alive(int root_fd, struct proc_id id)
{
	struct process_files_stat st;

	if (!read_stat(root_fd, id.pid, &st) || !is_same(&st, id))
		return false;
	return (st.state != 'Z' && st.state != 'X') || st.threads > 1;
}

/* /proc/PID/task has two links and one for each thread. */
static uint64_t count_threads(int proc_fd, const char *pid)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof path, "%.20s/task", pid);
	return fstatat(proc_fd, path, &st, 0) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 1;
}

uint64_t process_lookup_count_tasks(int root_fd, uid_t uid)
{
	int fd = openat(root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	uint64_t n = 0;
	struct stat st;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    fstatat(fd, entry->d_name, &st, 0) == 0 && st.st_uid == uid)
			n += count_threads(fd, entry->d_name);
	closedir(dir);
	return n;
}
