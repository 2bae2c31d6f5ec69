/* SPDX-License-Identifier: MIT */
#include "kernel/user_tasks.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "kernel/kernel_file.h"

/* /proc/PID/task has two links and one for each thread. */
static uint64_t count_threads(int proc_fd, pid_t pid)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof path, "%d/task", pid);
	return fstatat(proc_fd, path, &st, 0) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 1;
}

uint64_t user_tasks_count(int root_fd, uid_t uid)
{
	cleanup(closep) int fd = openat(root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(freep) struct kernel_list *list = xmalloc(sizeof *list);
	uint64_t n = 0;
	char path[16];
	struct stat st;
	pid_t pid;
	int error;

	kernel_file_list_begin(list);
	while (fd >= 0 && (pid = kernel_file_list_next_pid(list, fd, &error))) {
		snprintf(path, sizeof path, "%d", pid);
		if (fstatat(fd, path, &st, 0) == 0 && st.st_uid == uid)
			n += count_threads(fd, pid);
	}
	return n;
}
