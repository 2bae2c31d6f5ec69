/* SPDX-License-Identifier: MIT */
#include "probe/gpu/gpu_pids.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/defs.h"
#include "kernel/kernel_file.h"

#define HOST_PID_NAMESPACE 0xEFFFFFFCu /* its inode: part of the kernel's interface */
#define FILES_MAX 1024                 /* looked at, of one process */

bool gpu_pids_are_ours(int root_fd)
{
	struct stat st;

	return fstatat(root_fd, "proc/self/ns/pid", &st, 0) == 0 && st.st_ino == HOST_PID_NAMESPACE;
}

bool gpu_pid_is_ours(int root_fd, pid_t pid)
{
	static const char device[] = "/dev/nvidia";
	char path[32], target[sizeof device - 1];
	cleanup(closep) int dir_fd = -1;
	struct kernel_list list;
	const char *name;
	int error;

	snprintf(path, sizeof path, "proc/%d/fd", pid);
	dir_fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return false;
	kernel_list_begin(&list);
	for (int i = 0; i < FILES_MAX && (name = kernel_list_next(&list, dir_fd, &error)); i++)
		if (readlinkat(dir_fd, name, target, sizeof target) == sizeof target &&
		    memcmp(target, device, sizeof target) == 0)
			return true;
	return false;
}
