/* SPDX-License-Identifier: MIT */
#include "probe/gpu/gpu_pids.h"

#include <fcntl.h>
#include <sys/stat.h>

#define HOST_PID_NAMESPACE 0xEFFFFFFCu /* its inode: part of the kernel's interface */

bool gpu_pids_are_ours(int root_fd)
{
	struct stat st;

	return fstatat(root_fd, "proc/self/ns/pid", &st, 0) == 0 && st.st_ino == HOST_PID_NAMESPACE;
}

bool gpu_pid_is_ours(struct process_reader *reader, pid_t pid)
{
	struct process_request q = { .pid = pid, .device = "/dev/nvidia" };

	process_reader_read(reader, &q, 1);
	return !q.error && q.has_device;
}
