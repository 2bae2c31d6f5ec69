/* SPDX-License-Identifier: MIT */
#include "kernel/own_memory.h"

#include <unistd.h>

#include "kernel/kernel_file.h"
#include "kernel/process_files.h"

bool own_memory_read(int root_fd, uint64_t *ret_bytes)
{
	struct proc_readings own = { 0 };
	char text[128];
	ssize_t n = kernel_file_read(root_fd, "proc/self/statm", text, sizeof text);

	if (n <= 0 || !process_files_parse_statm(scan_mem(text, (size_t)n),
	                                         (uint64_t)sysconf(_SC_PAGESIZE), &own))
		return false;
	*ret_bytes = own.value[PROC_RSS];
	return true;
}
