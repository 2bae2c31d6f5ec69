/* SPDX-License-Identifier: MIT */
#include "kernel/user_tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* /proc/PID/task has two links and one for each thread. */
static uint64_t count_threads(int proc_fd, const char *pid)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof path, "%.20s/task", pid);
	return fstatat(proc_fd, path, &st, 0) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 1;
}

uint64_t user_tasks_count(int root_fd, uid_t uid)
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
